// SPDX-License-Identifier: Apache-2.0
// Macros that headers of platforms and libraries leave to a program: <complex.h>, <windows.h>, X11,
// Qt, <sys/sysmacros.h>, C libraries of other systems, Arduino, AssertMacros.h.
#define I 1

#define near
#define far
#define small char
#define hyper long long
#define huge
#define pascal
#define cdecl
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define BYTE unsigned char
#define ERROR 0
#define NO_ERROR 0
#define DELETE 1
#define STRICT 1
#define TRUE 1
#define FALSE 0
#define ABSOLUTE 1
#define RELATIVE 2
#define DIFFERENCE 11
#define OPAQUE 2
#define TRANSPARENT 1
#define IGNORE 0
#define INFINITE 0xffffffff
#define TEXT(x) L##x
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))

#define None 0L
#define Bool int
#define Status int
#define Success 0
#define True 1
#define False 0
#define Always 2
#define Above 0
#define Below 1
#define Complex 0
#define Convex 2
#define Expose 12
#define Unsorted 0

#define slots
#define signals public
#define emit
#define foreach for
#define forever for (;;)

#define major gnu_dev_major
#define minor gnu_dev_minor
#define linux 1
#define unix 1
#define i386 1

#define isfinite(x) _finite(x)
#define isinf(x) _isinf(x)
#define isnan(x) _isnan(x)
#define signbit(x) _signbit(x)
#define DOMAIN 1
#define SING 2
#define OVERFLOW 3
#define UNDERFLOW 4
#define TLOSS 5
#define PLOSS 6
#define HUGE 3.4e38f
#define EOF (-1)
#define ECHO 8
#define B0 0
#define B50 1
#define _U 01
#define _L 02
#define _N 04
#define _S 010
#define _P 020
#define _C 040
#define _X 0100
#define _B 0200

#define PI 3.14159
#define DEFAULT 1
#define INPUT 0
#define OUTPUT 1
#define HIGH 1
#define LOW 0
#define F(x) flash(x)
#define abs(x) ((x) > 0 ? (x) : -(x))
#define bit(x) (1UL << (x))
#define round(x) (long(x))
#define MIN(a, b) (((a) < (b)) ? (a) : (b))
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#define ASSERT(x) static_cast<void>(0)
#define CHECK(x) static_cast<void>(0)

#define YES 1
#define NO 0
#define nil 0
#define check(x) static_cast<void>(0)
#define error(x) static_cast<void>(0)
#define require(x, label) static_cast<void>(0)
#define verify(x) static_cast<void>(0)
