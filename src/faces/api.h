/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to faces/. */
/*
 * api: the public library (include/icisim/): handles around the structs of the other folders, and no logic of
 * its own.
 *
 * A public function that can fail, or that reads or writes numbers, is a call: from api_begin() to api_end()
 * its thread is in the C locale, as all readers and writers of numbers expect, and its status is one of ours.
 *
 * Units: none. Errors: those of the functions it calls. Ownership: a handle owns its members, except those
 * marked borrowed.
 */
#pragma once

#include <icisim/icisim.h>
#include <locale.h>

#include "engine/engine.h"
#include "settings/settings.h"
#include "study/machine.h"

struct icisim_point {
    struct settings settings; /* one value each */
    struct catalog catalog;
    struct engine_watch watch;
};

struct icisim_slice {
    struct catalog catalog;
    struct machine machine;
    char mapping[MESH_TEXT];
};

struct api_call {
    struct status st;
    locale_t before;
    int number; /* the caller's errno */
};

struct api_call api_begin(void);

/* Are all required arguments given? If not, the call fails. */
bool api_given(struct api_call *call, bool all);

/* Fills the caller's status, which may be NULL. Returns `code`. */
int api_end(struct api_call *call, int code, struct icisim_status *st);

/* Makes a point of the settings. */
int api_point(const struct icisim_point *point, struct point *said, struct status *st);
