/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * units: reads and prints quantities. Every quantity of the outside world has a unit; inside, everything is
 * in SI units and the unit is in the name. This is the one module that multiplies by powers of ten or two.
 *
 *   bytes      B, kB KB MB GB TB (powers of ten), KiB MiB GiB TiB (powers of two); whole bytes: 1.5MiB is one
 *   bandwidth  Bps, kBps ... TBps, KiBps ... TiBps, and bps, kbps ... Tbps for bits; also as GB/s, Gbit/s
 *   time       s ms us ns ps
 *   rate       flops, kflops ... Pflops; also ops, Gops, Tops
 *   work       flop, kflop ... Pflop (a count of operations, not a rate)
 *   frequency  Hz, kHz ... GHz
 *   fraction   0.85 or 85%
 *
 * A number is decimal (64, 1.5, 1e3), never negative; a blank may stand before the unit. A bare number is
 * refused with a corrected example, except for the size of a transfer, where it means bytes. A value that no
 * machine has (1e300Bps) is refused with the plausible range. Zero is read; a caller that needs more than
 * zero must check.
 *
 * Units: results are bytes, bytes per second, seconds, operations per second, operations, hertz.
 * Errors: STATUS_INPUT, and STATUS_LIMIT where a value does not fit; `what` names the quantity in the message
 * ("hop-latency '1' has no unit; write 1us or 1ms"). A result is written only on success.
 * Ownership: the caller's variables.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* units_parse_size(), for the size of a transfer, takes a bare number as bytes; any other quantity needs its
 * unit. */
int units_parse_size(const char *what, const char *text, uint64_t *bytes, struct status *st);
int units_parse_bytes(const char *what, const char *text, uint64_t *bytes, struct status *st);
int units_parse_bandwidth(const char *what, const char *text, double *Bps, struct status *st);
int units_parse_time(const char *what, const char *text, double *time_s, struct status *st);
int units_parse_rate(const char *what, const char *text, double *flops, struct status *st);
int units_parse_work(const char *what, const char *text, double *flop, struct status *st);
int units_parse_frequency(const char *what, const char *text, double *Hz, struct status *st);
int units_parse_fraction(const char *what, const char *text, double *frac, struct status *st);

/* Texts for people; the parsers above read them back. Bytes are exact: the shortest of 2MiB, 1.5MB, 1234567B.
 * The other quantities keep four digits: "37.95 us", "45 GB/s". All return `text`. */
enum { UNITS_TEXT = 32 };
char *units_print_bytes(uint64_t bytes, char text[static UNITS_TEXT]);
char *units_print_about_bytes(double bytes, char text[static UNITS_TEXT]); /* "34.09 MB" */
char *units_print_bandwidth(double Bps, char text[static UNITS_TEXT]);
char *units_print_time(double time_s, char text[static UNITS_TEXT]);
