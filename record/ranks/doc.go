// Package ranks records a parallel program with one recorder per node. The launcher starts
// pianola for each rank. The first rank of a node becomes its recorder. The others register with
// it and are then executed.
//
//	launcher ──► rank 0 of node n1: recorder ──starts──► command
//	        ├──► rank 1 of node n1 ──registers: UNIX socket──► recorder of n1; executes the command
//	        └──► rank 2 of node n2: recorder ──TCP, address in DIR──► recorder of n1, where rank 0 is
//
// The recorders of the nodes meet before the ranks begin, measure how their clocks differ, and
// measure that again at the end. They use sockets of their own: the launcher's connection
// (PMI_FD) belongs to the application.
package ranks
