#include "go_asm.h"
#include "textflag.h"

// The marks tell the tracer where a place in the code is (see marks in blob.go): an
// instruction that does nothing, with a number.
#define MARK(n) BYTE $0x0f; BYTE $0x1f; BYTE $0x84; BYTE $0x00; BYTE $n; BYTE $0x4f; BYTE $0x4e; BYTE $0x50

// The frame.
#define T0 0(SP)
#define RESULT 8(SP)
#define PLAN 16(SP)
#define SLOT 24(SP)
#define T1 32(SP)
#define SAVED 40(SP)
#define NOTED 48(SP) // the two bytes of inlineRecord: bits, type
#define NR 56(SP)
#define BASE 64(SP)
#define COUNT 72(SP)
#define FRAME const_frameBytes

#define SYS_FACCESSAT $269
#define SYS_STATX $332
#define SYS_CACHESTAT $451
#define ENOENT $-2
#define O_CREAT $0x40
#define O_CREAT_EXCL $0xc0
#define MAP_ANONYMOUS $0x20
#define STATX_FLAGS $0x5000 // AT_EMPTY_PATH and AT_STATX_DONT_SYNC
#define STATX_BASIC_STATS $0x7ff
#define STATX_MODE 28
#define STATX_MAJOR 136
#define STATX_MINOR 140
#define STATX_BYTES 256
#define CACHESTAT_BYTES 40

// blob is never called here. The tracer copies it into programs, where the stubs of call
// sites call it with the registers of a system call. Where it returns with the carry
// clear, it has made the call and written a record. Otherwise it has changed R11 and RCX
// only, as the kernel does, and the stub makes the call, which the filter sees.
//
// It uses 88 bytes of the program's stack, below the red zone, so a signal's handler can
// interrupt it. From the end of the call to the second mark it must not be interrupted:
// the tracer delays signals there.
TEXT ·blob(SB), NOSPLIT|NOFRAME, $0-0
	CMPQ AX, $const_maxNr
	JAE  slow
	MOVQ 0(GS), R11
	MOVQ AX, CX
	SHLQ $const_planShift, CX
	ADDQ slot_plans(R11), CX
	CMPL inlinePlan_bits(CX), $0
	JEQ  slow
	TESTL $const_planMask, inlinePlan_bits(CX)
	JEQ  anyArgument
	CMPQ SI, $64
	JAE  slow
	BTQ  SI, inlinePlan_mask(CX)
	JCC  slow

anyArgument:
	TESTL $const_planFinds, inlinePlan_bits(CX)
	JEQ  anyFlags
	TESTL O_CREAT, SI
	JNE  slow

anyFlags:
	TESTL $const_planMaps, inlinePlan_bits(CX)
	JEQ  anyMapping
	TESTL MAP_ANONYMOUS, R10
	JNE  slow

anyMapping:
	TESTL $const_planVector, inlinePlan_bits(CX)
	JEQ  anyCount
	CMPQ DX, $const_maxVector
	JHI  slow

anyCount:
	SUBQ $FRAME, SP
	MOVQ CX, PLAN
	MOVQ R11, SLOT
	MOVQ AX, NR
	MOVQ $0, NOTED
	MOVQ slot_head(R11), AX
	SUBQ slot_tail(R11), AX
	CMPQ AX, $const_ringRoom
	JHI  full
	MOVQ NR, AX
	MOVQ DX, RESULT // for now
	TESTL $const_planCreates, inlinePlan_bits(CX)
	JEQ  start
	MOVL DX, AX
	ANDL O_CREAT_EXCL, AX
	CMPL AX, O_CREAT // with O_EXCL, the result says it
	MOVQ NR, AX
	JNE  start
	XORL DX, DX
	MOVL SYS_FACCESSAT, AX
	SYSCALL
	MOVQ SLOT, R11
	CMPQ AX, ENOENT
	JNE  start
	MOVB $const_recordAbsent, NOTED

start:
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, T0
	MOVQ NR, DX
	MOVQ DX, slot_nr(R11)
	MOVQ DI, slot_first(R11)
	MOVQ SI, slot_second(R11)
	MOVQ AX, slot_begun(R11)
	MOVQ DX, AX
	MOVQ RESULT, DX
	SYSCALL
	MARK(const_markCalled)
	MOVQ AX, RESULT
	MOVQ DX, SAVED
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, T1

	// The place of the record, which does not wrap around.
	MOVQ SLOT, R11
	MOVQ slot_head(R11), AX
	MOVQ AX, CX
	ANDQ $(const_ringBytes-1), CX
	CMPQ CX, $(const_ringBytes-const_maxRecord)
	JLS  fits
	ADDQ $const_ringBytes, AX
	SUBQ CX, AX
	XORL CX, CX

fits:
	MOVQ AX, BASE
	ADDQ slot_ring(R11), CX
	MOVQ DI, (inlineRecord_args+0)(CX)
	MOVQ SI, (inlineRecord_args+8)(CX)
	MOVQ SAVED, DX
	MOVQ DX, (inlineRecord_args+16)(CX)
	MOVQ R10, (inlineRecord_args+24)(CX)
	MOVQ R8, (inlineRecord_args+32)(CX)
	MOVQ R9, (inlineRecord_args+40)(CX)
	MOVQ CX, R10
	LEAQ inlineRecord__size(R10), DI
	MOVQ PLAN, R9
	MOVQ $0, COUNT

	// The pieces of memory that the arguments point to.
piece:
	MOVQ COUNT, AX
	CMPQ AX, $const_inlinePieces
	JAE  pieced
	INCQ COUNT
	MOVQ inlinePlan_pieces(R9)(AX*8), DX
	TESTQ DX, DX
	JEQ  pieced
	MOVQ DI, R8
	ADDQ $8, DI
	MOVQ $0, (R8)
	MOVL DX, CX
	SHRL $8, CX
	ANDL $7, CX
	MOVQ inlineRecord_args(R10)(CX*8), SI
	TESTQ SI, SI
	JEQ  null
	MOVQ RESULT, AX
	TESTL $const_copyAfter, DX
	JEQ  ofKind
	TESTQ AX, AX
	JLT  piece

ofKind:
	TESTL $const_copyLock, DX
	JEQ  anyCommand
	MOVQ $const_lockMask, CX
	MOVQ (inlineRecord_args+8)(R10), AX
	BTQ  AX, CX
	JCC  piece
	MOVQ RESULT, AX

anyCommand:
	XORL CX, CX
	TESTL $const_copyString, DX
	JNE  string
	MOVQ AX, CX
	TESTL $const_copyResult, DX
	JNE  bounded
	MOVQ DX, CX
	SHRQ $32, CX
	TESTL $const_copyFixed, DX
	JNE  copy
	MOVQ (inlineRecord_args+16)(R10), CX
	TESTL $const_copyVector, DX
	JNE  vector
	MOVL CX, CX
	CMPL CX, $const_maxAddress
	JHI  piece
	JMP  copy

vector:
	SHLQ $4, CX
	JMP  copy

bounded:
	CMPQ CX, $const_maxString
	JLS  copy
	MOVL $const_maxString, CX

copy:
	MOVL CX, 0(R8)
	MOVL $const_stateWhole, 4(R8)
	REP; MOVSB

aligned:
	ADDQ $7, DI
	ANDQ $-8, DI
	JMP  piece

string:
	MOVBLZX (SI)(CX*1), AX
	TESTL AX, AX
	JEQ  whole
	MOVB AX, (DI)(CX*1)
	INCQ CX
	CMPQ CX, $const_maxString
	JCS  string
	MOVL $const_stateCut, 4(R8)
	JMP  counted

whole:
	MOVL $const_stateWhole, 4(R8)

counted:
	MOVL CX, 0(R8)
	ADDQ CX, DI
	JMP  aligned

null:
	MOVL $const_stateNull, 4(R8)
	JMP  piece

	MARK(const_markFault)
	MOVL $0, 0(R8)
	MOVL $const_stateUnreadable, 4(R8)
	LEAQ 8(R8), DI
	JMP  piece

pieced:
	MOVL inlinePlan_bits(R9), DX
	MOVQ RESULT, AX
	TESTL $(const_planOpens|const_planMaps), DX
	JEQ  typed
	CMPQ AX, $-4096
	JHI  publish
	TESTL $const_planMaps, DX
	JEQ  opened
	MOVL (inlineRecord_args+32)(R10), AX

opened:
	MOVQ AX, COUNT
	JMP  describe

typed:
	TESTL $const_planTyped, DX
	JEQ  forget
	MOVL inlineRecord_args(R10), AX
	MOVQ AX, COUNT
	CMPQ AX, $const_maxTypes
	JAE  publish
	MOVQ slot_types(R11), CX
	MOVBLZX (CX)(AX*1), CX
	TESTL CX, CX
	JEQ  describe
	MOVB CX, 49(SP)
	JMP  publish

	// What a descriptor leads to, in the place behind the record.
describe:
	MOVQ R10, SAVED
	LEAQ 16(DI), R8
	MOVL COUNT, DI
	MOVQ slot_zeroes(R11), SI
	MOVL STATX_FLAGS, DX
	MOVL STATX_BASIC_STATS, R10
	MOVL SYS_STATX, AX
	SYSCALL
	MOVQ AX, -16(R8)
	MOVQ $-1, -8(R8)
	MOVQ SLOT, R11
	TESTQ AX, AX
	JNE  described
	MOVWLZX STATX_MODE(R8), AX
	SHRL $12, AX
	JEQ  pseudo
	CMPL AX, $8
	JNE  known
	CMPL STATX_MAJOR(R8), $0
	JNE  known
	MOVL STATX_MINOR(R8), CX
	CMPL CX, $const_maxMinors
	JAE  counting
	MOVQ slot_minors(R11), SI
	MOVBLZX (SI)(CX*1), CX
	CMPL CX, $const_minorOther
	JEQ  known
	CMPL CX, $const_minorPseudo
	JNE  counting

pseudo:
	MOVL $const_pseudoType, AX

known:
	MOVB AX, 49(SP)
	MOVQ COUNT, CX
	CMPQ CX, $const_maxTypes
	JAE  counting
	MOVQ slot_types(R11), SI
	MOVB AX, (SI)(CX*1)

counting:
	TESTL $const_planOpens, inlinePlan_bits(R9)
	JEQ  described
	MOVWLZX STATX_MODE(R8), AX
	SHRL $12, AX
	CMPL AX, $8
	JNE  described
	MOVL COUNT, DI
	MOVQ slot_zeroes(R11), SI
	LEAQ STATX_BYTES(R8), DX
	XORL R10, R10
	MOVL SYS_CACHESTAT, AX
	SYSCALL
	MOVQ AX, -8(R8)
	MOVQ SLOT, R11

described:
	MOVQ SAVED, R10
	LEAQ -16(R8), DI
	TESTL $(const_planOpens|const_planMaps), inlinePlan_bits(R9)
	JEQ  publish
	LEAQ (STATX_BYTES+CACHESTAT_BYTES)(R8), DI
	ORB  $const_recordOpened, NOTED
	JMP  publish

forget:
	TESTL $const_planCloses, DX
	JEQ  duplicated
	MOVL inlineRecord_args(R10), AX

forgotten:
	CMPQ AX, $const_maxTypes
	JAE  publish
	MOVQ slot_types(R11), CX
	MOVB $0, (CX)(AX*1)
	JMP  publish

duplicated:
	TESTL $const_planDuplicates, DX
	JNE  forgotten

publish:
	MOVQ T0, AX
	MOVQ AX, inlineRecord_begun(R10)
	MOVQ T1, AX
	MOVQ AX, inlineRecord_ended(R10)
	MOVQ RESULT, AX
	MOVQ AX, inlineRecord_result(R10)
	MOVQ NR, AX
	MOVW AX, inlineRecord_nr(R10)
	MOVWLZX NOTED, AX
	MOVW AX, inlineRecord_bits(R10)
	MOVQ DI, AX
	SUBQ R10, AX
	MOVL AX, inlineRecord_size(R10)
	ADDQ BASE, AX
	MOVQ $0, slot_begun(R11)
	MOVQ AX, slot_head(R11)
	MOVQ (inlineRecord_args+0)(R10), DI
	MOVQ (inlineRecord_args+8)(R10), SI
	MOVQ (inlineRecord_args+16)(R10), DX
	MOVQ (inlineRecord_args+32)(R10), R8
	MOVQ (inlineRecord_args+40)(R10), R9
	MOVQ (inlineRecord_args+24)(R10), R10
	MOVQ RESULT, AX
	MARK(const_markDone)
	ADDQ $FRAME, SP
	CLC
	RET

full:
	MOVQ NR, AX
	ADDQ $FRAME, SP

slow:
	STC
	RET
	MARK(const_markCall)
	SYSCALL
	INT  $3
	MARK(const_markEnd)
	RET

// func blobAddress() unsafe.Pointer
TEXT ·blobAddress(SB), NOSPLIT, $0-8
	LEAQ ·blob(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func seek(fd, times, mark int)
TEXT ·seek(SB), NOSPLIT, $0-24
	MOVQ times+8(FP), R12

again:
	MOVQ fd+0(FP), DI
	XORL SI, SI
	MOVL $1, DX // SEEK_CUR
	MOVQ mark+16(FP), R9
	MOVL $8, AX // lseek
	SYSCALL
	DECQ R12
	JNE  again
	RET
