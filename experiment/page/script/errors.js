// The calls that failed.

// errorTable shows how often each operation failed with each error, in the whole run.
function errorTable(run) {
  return newTable({id: 'error', title: 'Errors', note: 'Of the whole run.', all: run.rows.errors ?? run.errors.length, by: 'calls'}, [
    {key: 'name', label: 'operation', kind: 'words'},
    {key: 'error', label: 'error', kind: 'words'},
    {key: 'calls', label: 'calls', kind: 'number'},
    {key: 'seconds', label: 'time', kind: 'seconds'},
  ], run.errors);
}
