/* SPDX-License-Identifier: GPL-3.0-or-later */
/* columns OPTION=VALUE ...: all numbers of a point, as the library has them, in hexadecimal. */
#include <icisim/icisim.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct icisim_status st;
    struct icisim_point *point = icisim_point_new(&st);
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        *value = '\0';
        if (icisim_point_set(point, argv[i], value + 1, &st) < 0)
            return puts(st.text), 1;
    }
    struct icisim_result *result = icisim_point_run(point, &st);
    if (!result)
        return puts(st.text), 1;
    for (int i = 0; icisim_column_name(i); i++) {
        double value;
        if (icisim_column_is_text(i))
            continue;
        icisim_result_real(result, icisim_column_name(i), &value, &st);
        printf("%s %a\n", icisim_column_name(i), value);
    }
    icisim_result_free(result);
    icisim_point_free(point);
    return 0;
}
