/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exports: each public function is declared with ICISIM_API, between BEGIN and END for C++. */
#ifndef ICISIM_API_VISIBILITY_H
#define ICISIM_API_VISIBILITY_H

#define ICISIM_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define ICISIM_BEGIN extern "C" {
#define ICISIM_END   }
#else
#define ICISIM_BEGIN
#define ICISIM_END
#endif

#endif
