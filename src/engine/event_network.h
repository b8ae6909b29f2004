/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to engine/. */
/*
 * event_network: flows on links, and their rates by plain max-min fair sharing.
 *
 * Progressive filling (event_fill.c) raises the rates of all flows together. A link that gets full holds the
 * flows on it that are not held yet: they stay at that level. So every flow is held by one link of its route,
 * all flows that a link holds have the same rate, and the link keeps one clock for them: the bytes served to
 * each flow since the link was last idle. A flow that is held from clock V on with b bytes left ends when the
 * clock shows V + b, so a change of rate only updates the link and not its flows.
 *
 *     link is full at   level = (bandwidth - sum of the rates of flows held elsewhere) / flows left
 *
 * Flows over one link need no filling: that link holds them, and they share its remaining bandwidth. Flows
 * over several links (paths) connect links. Links that paths in flight connect form a group, which is filled
 * as a whole: a path that begins makes one group of those of its links, and after its last path a group falls
 * apart into single links. From one filling to the next the levels change, but
 * most links hold the same paths as before. So a link keeps the number of crossings of each other link by all
 * its paths (its shares). In the next filling it subtracts shares * level from those links and visits no
 * path, provided that the number of open flows across it equals the number of flows it held before. (Then
 * they are the same flows: all links that were full earlier have held theirs again, so exactly its own flows
 * are still open.)
 *
 * Two things keep most links out of a filling:
 *   - A path that ends was held at some level. Links that get full below that level are not affected, since the
 *     path did not cross them, or they would have held it. So they are not processed again, and filling resumes
 *     at that level.
 *   - Most links never get full. Only links that were full last time, or nearly, are watched. At the end it is
 *     checked that no other link carries more than its bandwidth; if one does, it is watched, too, and filling
 *     starts again.
 *
 * HBM that is wide enough slows no send, only computes (computes_yield() in resource.h), and takes no part in any filling
 * (event_memory.c). Else it connects all links of a slice, but events on one chip rarely affect others. So then
 * (`local`) there are no groups: only the links that changed are filled, while all flows held by other links
 * keep their rates. Then the result is checked for max-min fairness, and filling is extended to the links
 * that violate it, until there are none:
 *   - a filled link carries a flow that another link holds at a rate above its own level: add that other link
 *   - a flow crosses a filled link, but no filled link holds it: add all links of this flow
 *   - flows held by filled links cross a link that holds other flows, or carries too much now: add that link
 *
 * If several links are full at one level, a path that crosses more than one of them is held by the first one
 * on its route, so that equivalent flows stay equal to the last bit. Links and groups that changed are marked
 * dirty and settled once per instant, after all its events; each has one event, not after its earliest end. Instants that
 * differ by less than 2^-48 of their value count as one, so that rounding does not separate equal times.
 *
 * Units: bytes, seconds. Errors: `code` is set and stays: STATUS_NOMEM, or STATUS_LIMIT if there are too many
 * paths at once. Ownership: network_free(); queue and map are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/event_plan.h"
#include "engine/event_queue.h"

#define NETWORK_SAME_FRAC 0x1p-48

/* The op of one chip whose bytes share links with others. */
struct flow {
    double start_s;
    double left_bytes;    /* valid while no link holds it */
    int32_t op, chip, to; /* to: the chip where it arrives */
    int32_t links;
    int32_t place; /* in the list of the link that holds it */
    int32_t *link; /* of a path: [links] the links it crosses, then [links] its place in the list of each */
};

/* Chips of one op that started in the same instant. First they wait together until their bytes flow;
 * then, if all have the same bytes, each rides alone on its link (event_run.h). A compute has only
 * one event, its end. */
struct wave {
    double start_s;
    double due_s;          /* time of its event */
    double since_s, bytes; /* of a riding wave: since when, and the bytes of each chip */
    int32_t op;
    bool rides;
    int32_t *chip, chips, room;
};

/* The user of a link: none, flows that share it, or a wave (its index). */
#define RIDER_NONE  ((uint32_t)0)
#define RIDER_FLOWS UINT32_MAX

/* A flow held by a link; it ends when the link's clock shows end_bytes. */
struct held {
    double end_bytes;
    uint32_t flow;
};

/* A crossing of a link by a path, whose `at`th link it is. */
struct crossing {
    uint32_t flow;
    int32_t at;
};

/* The number of crossings of another link, or of this one, by the paths that a link holds. */
struct share {
    int32_t link, crossings;
};

struct link {
    double served_bytes; /* its clock at since_s */
    double since_s;
    double rate_Bps;    /* of each flow that it holds */
    double first_bytes; /* the earliest end among these, by the clock ... */
    double due_s;       /* ... and by time; NaN if none is known */
    double queued_s;    /* time of its next event, which may come before due_s */
    double least_bytes; /* the least end_bytes of all held flows; NaN if it must be searched */
    struct held *held;
    int32_t helds, held_room;
    int32_t singles; /* number of held flows over this link alone */
    bool dirty;
};

/* The paths of a link: those that cross it, and the shares of those that it holds. */
struct bundle {
    struct crossing *crossing; /* a path that crosses the link twice has two entries */
    struct share *share;
    int32_t crossings, crossing_room, shares, share_room;
    int32_t counted;    /* the paths among the first `counted` held flows are in the shares */
    int32_t own, total; /* its share of itself; the sum of its shares */
    int32_t level;      /* start of its level in the order of its group */
    uint32_t full;      /* the last pass in which it was full */
};

/* The state of a link during a filling. */
struct fill {
    double left_Bps;
    int32_t open;    /* flows not held yet; a path counts once for each crossing */
    int32_t held;    /* those of them held at the current level */
    int32_t watched; /* it is watched up to this filling of its group */
    bool busy;       /* it is in the list `busy` of a group */
};

/* An entry in the heap of a filling: a link, and a level below which it is not full. */
struct fill_entry {
    double level_Bps;
    int32_t link;
};

/* A group of links that paths connect. */
struct group {
    bool dirty;
    double due_s, queued_s;             /* as of a link */
    int32_t from;                       /* the place in the order from which filling must be repeated */
    int32_t fills;                      /* number of fillings */
    int32_t paths;                      /* paths that flow in it; 0: each link is shared on its own */
    int32_t *busy, busies, busy_room;   /* its links; some may have no flows any more */
    int32_t *order, orders, order_room; /* the full links, level by level */
};

/* A path that is taken over, and the next path that the same link held. */
struct taken {
    uint32_t flow;
    int32_t next;
};

/* A flow that has ended. */
struct network_end {
    double start_s;
    int32_t op, chip, to;
};

/* Largest number of crossings at the same time; more would take several GB. */
enum { NETWORK_CROSSINGS_MAX = 1 << 27 };

struct network {
    const struct map *map;
    struct queue *queue;
    struct pool flows, waves;
    struct link *link; /* [map.links] */
    uint32_t *rider;   /* [map.links] */
    int32_t *dirty;    /* [2 * map.links], links marked dirty */
    int32_t dirties;
    struct network_end *end; /* flows that have ended in this instant */
    int32_t ends, end_room;
    int code;

    bool local; /* HBM (or a joint) takes part: only changed links, and the links they reach, are filled */
    /* Flows of a group that are due within this share of the time end now (`local`: not used). */
    double early_frac;
    double late_frac; /* flows of a group end later by this share of the time */

    /* If computes yield to sends, else NULL: [chips] the HBM that sends take, in units that add up exactly, so that
     * equal chips stay bit-equal. */
    int64_t *used;
    const struct program *program;

    /* Nothing below is allocated before the first path. */
    struct bundle *bundle; /* [map.links] */
    struct group *group;   /* [map.links], each begun by a path whose first link has its number */
    int32_t *group_of;     /* [map.links]: the group of a link that is in one (fill.busy) */
    struct group reached;  /* `local`: the links being filled */
    int32_t *holder;       /* [holder_room]: the link that holds each flow, or -1 */
    uint32_t holder_room, pass;
    int64_t crossings;
    int32_t *dirty_group, dirty_groups; /* [map.links]: groups to fill again */

    /* Scratch of a filling, [map.links] each. */
    struct fill *fill;
    struct fill_entry *heap;
    int32_t *full, *touched, *changed;
    int32_t *change; /* all 0 */
    int32_t touches, changes, changes_total;
    int64_t open;        /* number of crossings by flows not held yet */
    struct taken *taken; /* [taken_room], from index 1: paths that a full link takes over */
    int32_t takens, taken_room;
    int32_t *first_taken;   /* [map.links + 1]: first path held by no link, by link 0, ...; 0 between uses */
    int32_t *loser, losers; /* [map.links + 1]: the links that held them, -1 for no link */
};

int network_init(struct network *network, const struct plan *plan, struct queue *queue);
void network_free(struct network *network);

static inline struct flow *network_flow(const struct network *network, uint32_t flow)
{
    return (struct flow *)network->flows.item + flow;
}
static inline struct wave *network_wave(const struct network *network, uint32_t wave)
{
    return (struct wave *)network->waves.item + wave;
}

/* Makes a flow for an op on one chip; 0 when memory runs out. It then joins one link, or several (some
 * perhaps twice). */
uint32_t network_flow_of(struct network *network, int32_t op, int32_t chip, int32_t to, double start_s,
                         double bytes);
void network_join(struct network *network, uint32_t flow, int32_t link, double now_s);
void network_join_path(struct network *network, uint32_t flow, const int32_t link[], int32_t links,
                       double now_s);

/* Queues the event of an end, unless one comes before it: when that is handled, it is awaited again. An end that moves,
 * as with each change of the HBM that a compute has, so does not leave an event behind each time. */
static inline void network_await(struct network *network, enum event_kind kind, int32_t index, double due_s,
                                 double *queued_s, double now_s)
{
    if (!(due_s < INFINITY) || (*queued_s > now_s && *queued_s <= due_s))
        return;
    *queued_s = due_s;
    queue_push(network->queue, due_s, kind, (uint32_t)index);
}

/* Handles the event of a link, or of a group. If it is due, some flows end now: network->end[0 .. ends). */
void network_link_event(struct network *network, int32_t link, double now_s);
void network_group_event(struct network *network, int32_t group, double now_s);
/* The same of a link that is due by until_s. */
void network_link_due(struct network *network, int32_t link, double until_s, double now_s);
/* After all events of an instant: if flows have ended while others cross several links, ends those, too, whose ends
 * differ from it by rounding alone, or lie within the tolerance. */
void network_due_soon(struct network *network, double now_s);

/* Updates the rates of all that changed in this instant, and queues the next ends. */
void network_settle(struct network *network, double now_s);

/* event_memory.c, for runs in which computes yield. memory_note(): a send of an op has another rate than it had.
 * memory_wait(): one that takes HBM while it waits (program.h) starts or ends on a chip.
 * memory_rate(): all flows that a link holds get a rate. memory_left_Bps(): what a link, or the compute of a chip, may
 * use. */
void memory_wait(struct network *network, int32_t op, int32_t chip, bool starts);
void memory_note(struct network *network, int32_t op, int32_t chip, int32_t to, double was_Bps,
                 double is_Bps);
void memory_rate(struct network *network, struct link *link, double rate_Bps);
static inline bool memory_limits(const struct network *network, int32_t link)
{
    return network->used && link >= network->map->links - network->map->chips;
}
double memory_left_Bps(const struct network *network, int32_t link);

/* Functions shared by the files of the network. event_groups.c: group_awake() is the group of a link if paths
 * flow in it, or else NULL; group_disturb() marks a group to be filled again, from a place in its order;
 * network_touch() notes a change on a link. */
static inline struct group *group_awake(const struct network *network, int32_t link)
{
    bool grouped = network->group && !network->local && network->fill[link].busy;
    struct group *group = grouped ? &network->group[network->group_of[link]] : NULL;
    return group && group->paths > 0 ? group : NULL;
}
void network_touch(struct network *network, int32_t link);
void group_disturb(struct network *network, struct group *group, int32_t from);
void group_busy(struct network *network, struct group *group, int32_t link); /* a link joins it */
void network_settle_groups(struct network *network, double now_s);
void network_free_groups(struct network *network);
void path_remove(struct network *network, uint32_t flow);

/* event_hold.c. hold(): a link holds a flow from now on. hold_end(): it stops holding a path. hold_count()
 * updates its shares, before another link stops holding paths. hold_least(): the least end of the flows it
 * holds, infinity if there are none. hold_end_due(): ends all its flows that are due. */
bool hold(struct network *network, int32_t link, uint32_t flow, double now_s);
void hold_end(struct network *network, int32_t link, uint32_t flow, double now_s);
bool hold_count(struct network *network, int32_t link);
double hold_least(struct link *link);
bool hold_end_due(struct network *network, int32_t link, double now_s, double frac);

/* event_fill.c fills the links of a group, event_local.c those reached from the changed ones, and both queue the next
 * ends. fill_heap() orders the heap and fills its links, level by level; false when memory runs out. */
void group_fill(struct network *network, struct group *group, double now_s);
void network_fill_changed(struct network *network, double now_s);
bool fill_heap(struct network *network, struct group *group, int32_t entries, double level_Bps, double now_s);
static const double fill_rounding_frac = 1e-12;

/* Is a flow held by a link that is not being filled, so that its rate does not change? */
static inline bool flow_is_fixed(const struct network *network, uint32_t flow)
{
    int32_t by = network->holder[flow];
    return network->local && by >= 0 && !network->fill[by].busy;
}
/* Is a flow held at the present filling, or fixed? */
static inline bool flow_is_held(const struct network *network, uint32_t path)
{
    int32_t by = network->holder[path];
    return by >= 0 && (network->bundle[by].full == network->pass || flow_is_fixed(network, path));
}

/* Marks a link as idle if it has no flows any more. */
static inline void network_leave(struct network *network, int32_t link)
{
    if (network->link[link].singles == 0 && (!network->bundle || network->bundle[link].crossings == 0))
        network->rider[link] = RIDER_NONE;
}
/* Prepares a link for a flow: a chip that rides on it becomes a flow, too. */
void network_seize(struct network *network, int32_t link, double now_s);

/* Advances a link's clock to now. If an end is due now, the clock shows exactly that end, whatever event
 * comes first in this instant: so symmetric links stay bit-equal. */
static inline void link_advance(struct link *link, double now_s)
{
    if (link->due_s == now_s)
        link->served_bytes = link->first_bytes;
    else
        link->served_bytes += link->rate_Bps * (now_s - link->since_s);
    link->since_s = now_s;
}
