/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * event_path: flows of several links (paths): which links are connected by them, and which link holds which path.
 *
 * Progressive filling (event_fill.c) raises the rates of all flows together. A link that gets full holds the flows
 * on it that are not held yet: they stay at that level. So every path is held by one link of its route, all that a
 * link holds has the same rate, and one clock does for it all, that of the link's one-link flows.
 *
 * From one filling to the next the levels change, but most links hold the paths that they held before. So a link
 * keeps the list of its paths and, added up over them, how often they cross each other link (its shares). To fill
 * again it subtracts shares * level from those links and looks at no path, as long as as many flows cross it
 * that are not held yet as it held before. (These are the same ones then: all links that were full earlier have
 * held theirs again, so its own are still to be held, and there are no others.)
 *
 * Two things keep most links out of a filling:
 *   - A path that ends was held at some level. Links that get full below that level do not see the difference: the
 *     path did not cross them, or they would have held it. So filling starts at that level, from a mark of how far
 *     each link was filled by then.
 *   - Most links never get full. Only those are watched that were full last time, or nearly; at the end it is
 *     checked that no other one carries more than its bandwidth, or else that one is watched too, and filling
 *     starts again.
 *
 * Where several links are full at one level, a path that crosses more of them is held by the first one of its
 * route: so what is alike stays alike to the last bit.
 *
 * Units: bytes, seconds. Errors: false when memory is used up; network.code. Private to the files of the network.
 */
#ifndef ICISIM_EVENT_PATH_H
#define ICISIM_EVENT_PATH_H

#include "engine/event_network.h"

struct path {
    double left_bytes; /* while no link holds it */
    uint32_t flow;
    uint32_t first; /* crossing of its first link */
    int32_t links;
    int32_t place; /* in the list of the link that holds it */
};

/* Crossings of a link, in chunks: which path, and which of the path's crossings. */
enum { CHUNK_CROSSINGS = 64 };
struct chunk {
    uint32_t next; /* the chunks after it are full */
    uint32_t path[CHUNK_CROSSINGS];
    uint32_t crossing[CHUNK_CROSSINGS];
};

/* A path that a link holds: it ends when the link's clock shows end_bytes. */
struct held {
    double end_bytes;
    uint32_t path;
};

/* A path that is taken over, and the next one of those that the same link held. */
struct taken {
    uint32_t path;
    int32_t next;
};

/* How often the paths that a link holds cross another link, or this one. */
struct share {
    int32_t link, crossings;
};

struct holder {
    struct held *held;
    struct share *share;
    int32_t helds, held_room, shares, share_room;
    int32_t counted;    /* of the paths held, the first so many are in the shares */
    int32_t own, total; /* its share of itself; the sum of its shares */
    int32_t level;      /* where its level begins in the order of its group */
    uint32_t full;      /* the last pass in which it was full */
    double least_bytes; /* the least end_bytes; NaN if it must be looked for */
};

/* How far a link is filled. */
struct fill {
    double left_Bps;
    int32_t open;    /* flows that are not held yet, a path as often as it crosses */
    int32_t held;    /* of these, at this level */
    int32_t flows;   /* in all */
    int32_t watched; /* to the end of this filling of its group */
};

/* In the heap of a filling: a link, and a level below which it is not full. */
struct fill_entry {
    double level_Bps;
    int32_t link;
};

/* How far the links of a group were filled at a place in its order: those with flows that were not held. */
enum { MARKS = 8, MARKED_LINKS = 16 };
struct mark_entry {
    double left_Bps;
    int32_t link, held; /* flows that were held */
};
struct mark {
    double level_Bps;
    int32_t at, entries;
    struct mark_entry *entry;
};

/* Links that are connected by paths, and some that no longer are: paths that end may part them, which is found out
 * when half of the paths have gone. */
struct group {
    uint32_t pool; /* the pool's, once the group is given back */
    bool dirty;
    double due_s;               /* its event; NaN if none is queued */
    int32_t from;               /* the place in the order from which it must be filled again */
    int32_t fills;              /* how often it was */
    int32_t paths, paths_most;  /* now, and since it was gathered */
    int32_t links, link_room;   /* room of both lists below */
    int32_t *link;              /* all of them */
    int32_t *order, orders;     /* the full ones, level by level */
    struct mark mark[MARKS];    /* in the order of their places */
    struct mark_entry *entries; /* room for mark_room entries a mark */
    int32_t marks, mark_room;
};

static inline struct path *network_path(const struct network *network, uint32_t path)
{
    return (struct path *)network->paths.item + path;
}
static inline struct group *network_group(const struct network *network, uint32_t group)
{
    return (struct group *)network->groups.item + group;
}
static inline struct chunk *network_chunk(const struct network *network, uint32_t chunk)
{
    return (struct chunk *)network->chunks.item + chunk;
}

/* event_path.c. Takes a path off its links; nobody holds it any more. */
void path_remove(struct network *network, uint32_t path);

/* event_group.c. A link becomes one of a path's group, 0 at first; then the path joins the group. A group must be
 * filled again, from a place in its order on. */
bool group_enter(struct network *network, uint32_t *group, int32_t link);
void group_join(struct network *network, uint32_t group);
void group_disturb(struct network *network, uint32_t group, int32_t from);
void group_free_all(struct network *network);

/* event_hold.c. A link holds a path from now on, or lets it go. hold_count() brings its shares up to date: it must
 * follow before another link lets go. The least end of what it holds, infinity if that is nothing. */
bool hold(struct network *network, int32_t link, uint32_t path, double now_s);
void hold_end(struct network *network, int32_t link, uint32_t path, double now_s);
bool hold_count(struct network *network, int32_t link);
/* Brings the shares of a link up to date that alone is full at a level: they are what was noted there (fill_note()). */
bool hold_noted(struct network *network, int32_t link);
double hold_least(struct network *network, int32_t link);

/* event_fill.c. Shares the links of a group, and queues what ends next. */
void group_fill(struct network *network, uint32_t group, double now_s);

/* event_mark.c. Brings the links of a group to where filling starts, writes those that are watched and may get full
 * to network->heap, in any order, and returns how many. And marks how far they are filled, now and then. */
int32_t fill_start(struct network *network, struct group *group, double *level_Bps);
bool fill_mark(struct network *network, struct group *group, double level_Bps);

/* Flows that cross a link so often are held at this level; all that were noted are subtracted. */
static inline void fill_note(struct network *network, int32_t link, int32_t crossings)
{
    struct fill *fill = &network->fill[link];
    if (fill->held == 0)
        network->touched[network->touches++] = link;
    fill->held += crossings;
}
void fill_subtract(struct network *network, double level_Bps);
/* All that a link held, of which it has kept account, is held again; of one that is alone at its level at once. */
void fill_note_shares(struct network *network, int32_t link);
void fill_subtract_shares(struct network *network, int32_t link, double level_Bps);

/* Makes room for one more item in a list of n; NULL when memory is used up. */
void *list_room(void *list, int32_t n, int32_t *room, size_t item_bytes);

#endif
