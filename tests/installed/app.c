/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A user's program: the times of an all-gather and of a sharded matmul. An argument is the engine. */
#include <icisim/icisim.h>
#include <stdio.h>

static int print_time(const char *engine, const char *op, const char *option[][2])
{
    struct icisim_status st;
    struct icisim_result *result = NULL;
    struct icisim_point *point = icisim_point_new(&st);
    int code = point ? icisim_point_set(point, "op", op, &st) : st.code;
    if (code == 0 && engine)
        code = icisim_point_set(point, "engine", engine, &st);
    for (; code == 0 && (*option)[0]; option++)
        code = icisim_point_set(point, (*option)[0], (*option)[1], &st);
    double time_s = 0;
    if (code == 0 && (result = icisim_point_run(point, &st)))
        icisim_result_real(result, "time_s", &time_s, &st);
    if (st.code < 0)
        printf("%s: %s\n", op, st.text);
    else
        printf("%s: %.9g s\n", op, time_s);
    icisim_result_free(result);
    icisim_point_free(point);
    return st.code;
}

int main(int argc, char **argv)
{
    const char *engine = argc > 1 ? argv[1] : NULL;
    const char *gather[][2] = {{"slice", "4"}, {"size", "24MB"}, {NULL}};
    const char *matmul[][2] = {{"slice", "2x4"}, {"mesh", "X=x,Y=y"}, {"strategy", "naive"}, {NULL}};
    return print_time(engine, "all-gather", gather) < 0 ||
           print_time(engine, "bf16[1024@X,2048@Y] . bf16[2048,8192@Y] -> bf16[1024@X,8192@Y]", matmul) < 0;
}
