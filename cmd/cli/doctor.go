package cli

import (
	"github.com/urfave/cli/v2"

	"pianola/cmd/doctor"
)

func doctorCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "doctor",
		Usage:     "check whether this machine and user can record and replay",
		UsageText: "pianola doctor [OPTION]…",
		Description: "Tries everything that recording and replaying need, and says what to do if something is missing.\n" +
			"The exit status is 1 then. If eBPF is not possible, doctor tries to record with ptrace.\n" +
			"\n" +
			"Then it lists the features of this machine that Pianola uses, and the effect of each missing\n" +
			"one.\n\n" +
			"Example: pianola doctor",
		Action: runDoctor,
	})
}

func runDoctor(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	r, err := doctor.Examine(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(r)
	} else {
		err = r.WriteText(session.Stdout("text"))
	}
	if err == nil && !r.OK {
		err = &exitError{status: ExitFailure}
	}
	return err
}
