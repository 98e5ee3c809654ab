// Package hub is the carrier of a player (package ranks): it finds the carriers of the
// other players, and carries messages and ends of events over NATS. Rank 0 has the NATS
// server in its carrier, unless there is one already.
//
// The carriers meet through PMI-1, whose descriptor the launcher gives each process, at the
// address in MASTER_ADDR, through a file in a directory that all see, or at a given NATS
// server. Rank 0 publishes the address of its server and a random token there.
// Without the token no connection is accepted.
//
// Subjects begin with "pianola.RUN.", where RUN is the name of the run:
//
//	join           hello of a rank: answered once by rank 0
//	all            from rank 0: who has joined
//	measure.RANK   from rank 0: a rank measures its clock, and answers
//	clock          answered by rank 0 with its time
//	message.RANK   a message to a rank
//	edge.RANK      ends of events that a rank waits for
//	alive.RANK     from a rank, each second
//	left.RANK      a rank has left
//	failure        why the replay fails
package hub
