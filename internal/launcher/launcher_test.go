package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		env   map[string]string
		place Place
		err   string
	}{
		"hydra": {
			env:   map[string]string{"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME": "n2"},
			place: Place{3, 4, 1, 2, "n2", ""},
		},
		"Slurm, whose own PMI has no local rank": {
			env: map[string]string{"PMI_RANK": "6", "PMI_SIZE": "7", "SLURM_PROCID": "6", "SLURM_STEP_NUM_TASKS": "7", "SLURM_LOCALID": "0", "SLURM_NODEID": "3",
				"SLURM_STEP_TASKS_PER_NODE": "2(x3),1", "SLURMD_NODENAME": "n4", "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0"},
			place: Place{6, 7, 0, 1, "n4", "12.0"},
		},
		"hydra within a job of Slurm": {
			env: map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_LOCALID": "0", "PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1",
				"MPI_LOCALNRANKS": "2"},
			place: Place{1, 2, 1, 2, "", ""},
		},
		"Open MPI": {
			env: map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
				"OMPI_COMM_WORLD_LOCAL_SIZE": "1"},
			place: Place{1, 2, 0, 1, "", ""},
		},
		"alone on its node": {env: map[string]string{"RANK": "1", "WORLD_SIZE": "2"}, place: Place{1, 2, 0, 1, "", ""}},
		"by hand": {
			env:   map[string]string{"PIANOLA_RANK": "2", "PIANOLA_SIZE": "3", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_LOCALID": "0"},
			place: Place{2, 3, 0, 1, "", ""},
		},
		"an indexed job of Kubernetes":   {env: map[string]string{"JOB_COMPLETION_INDEX": "3", "PIANOLA_SIZE": "4"}, place: Place{3, 4, 0, 1, "", ""}},
		"an indexed job of unknown size": {env: map[string]string{"JOB_COMPLETION_INDEX": "3"}, err: `PIANOLA_SIZE is ""`},
		"none":                           {env: map[string]string{"SLURM_PROCID": "0"}, err: "no launcher"},
		"no number":                      {env: map[string]string{"RANK": "x", "WORLD_SIZE": "2"}, err: `RANK is "x"`},
		"too large":                      {env: map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, err: "not possible"},
		"a list that ends": {
			env: map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0", "SLURM_NODEID": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"},
			err: "SLURM_STEP_TASKS_PER_NODE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Find(func(key string) (string, bool) { v, ok := c.env[key]; return v, ok })
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.place, p)
		})
	}
}
