package hub

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// pmi is a client of PMI-1, the text protocol of process managers: a line for each request,
// and a line for its answer.
type pmi struct {
	conn io.ReadWriter
	in   *bufio.Reader
	kvs  string
}

// newPMI begins a session with a process manager.
func newPMI(conn io.ReadWriter) (*pmi, error) {
	p := &pmi{conn: conn, in: bufio.NewReader(conn)}
	if _, err := p.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"); err != nil {
		return nil, err
	}
	got, err := p.ask("cmd=get_my_kvsname", "my_kvsname")
	p.kvs = got["kvsname"]
	return p, err
}

// ask sends a request and returns the fields of the answer.
func (p *pmi) ask(request, answer string) (map[string]string, error) {
	if _, err := io.WriteString(p.conn, request+"\n"); err != nil {
		return nil, fmt.Errorf("PMI: %w", err)
	}
	line, err := p.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("PMI: no answer to %q: %w", request, err)
	}
	fields := make(map[string]string)
	for word := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(word, "=")
		fields[key] = value
	}
	if rc, ok := fields["rc"]; fields["cmd"] != answer || ok && rc != "0" {
		return nil, fmt.Errorf("PMI: the answer to %q is %q", request, strings.TrimSpace(line))
	}
	return fields, nil
}

// put publishes a value, which must have no spaces, for get after the next barrier.
func (p *pmi) put(key, value string) error {
	maxes, err := p.ask("cmd=get_maxes", "maxes")
	if err != nil {
		return err
	}
	if most, err := strconv.Atoi(maxes["vallen_max"]); err == nil && len(value) >= most {
		return fmt.Errorf("PMI: a value of %d bytes is too long", len(value))
	}
	_, err = p.ask(fmt.Sprintf("cmd=put kvsname=%s key=%s value=%s", p.kvs, key, value), "put_result")
	return err
}

// barrier waits until all ranks call it.
func (p *pmi) barrier() error {
	_, err := p.ask("cmd=barrier_in", "barrier_out")
	return err
}

func (p *pmi) get(key string) (string, error) {
	got, err := p.ask(fmt.Sprintf("cmd=get kvsname=%s key=%s", p.kvs, key), "get_result")
	return got["value"], err
}

// finalize ends the session. A process that ends without it has failed.
func (p *pmi) finalize() error {
	_, err := p.ask("cmd=finalize", "finalize_ack")
	return err
}
