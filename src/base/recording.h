/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * recording: what the reader of YAML says of a text, written down, so that files that are compiled in need not be parsed at
 * every start: that took a tenth of the time of a small command.
 *
 * Each call of a function of tree.h is a byte that says which, line and column in two bytes each, the upper one first, and two
 * texts that end with NUL: the anchor ("": none), and what the scalar says or the alias names. The build records (tree_record.c), the
 * program reads (tree_read_recording()): what comes out is the same tree.
 */
#ifndef RECORDING_H
#define RECORDING_H

enum recorded {
    RECORDED_PLAIN = 's',
    RECORDED_QUOTED = 'q',
    RECORDED_MAPPING = '{',
    RECORDED_SEQUENCE = '[',
    RECORDED_END = '.',
    RECORDED_ALIAS = '*'
};

enum { RECORDING_PLACE_MAX = 65535 };

#endif
