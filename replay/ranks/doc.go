// Package ranks lets several processes replay one trace: each plays the threads of some
// recorded ranks. The processes are started by a launcher, such as srun or mpiexec, on one
// machine or on several. They are called players here.
//
// Beside each player runs a carrier, the program pianola-ranks (package hub). It finds the
// other ones, carries messages and ends of events, measures the offset between clocks, and
// notices when a player has died. It is a program of its own because it allocates memory,
// links packages that the main program does not need, and because a player runs without a
// garbage collector while it replays.
//
//	player 0                                    player 1
//	workers ── Board ── carrier ══ NATS ══ carrier ── Board ── workers
//	Session ── Link ──┘                         └─── Link ── Session
//
// A [Session] is the player's side: collective operations before and after the replay. A
// [Board] is used while it runs: an event that comes after an event of another player waits
// for a slot in shared memory. No thread waits for a message.
//
// The methods of a Session are for one goroutine, unless they say otherwise.
package ranks
