/* each.h - a row of kernels.def for each of its types: EACH(ROW, TYPES(a, b), fields) is ROW(a, fields) ROW(b,
 * fields). */
#ifndef TILEWRIGHT_EACH_H
#define TILEWRIGHT_EACH_H

#define TYPES(...) (__VA_ARGS__)

#define EACH(row, types, ...)                         EACH_COUNTED(EACH_COUNT types, row, types, (__VA_ARGS__))
#define EACH_COUNTED(...)                             EACH_PASTED(__VA_ARGS__)
#define EACH_PASTED(n, row, types, rest)              EACH_CALL(EACH_##n, (row, rest, EACH_OPEN types))
#define EACH_CALL(macro, list)                        macro list
#define EACH_OPEN(...)                                __VA_ARGS__
#define EACH_COUNT(...)                               EACH_TENTH(__VA_ARGS__, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define EACH_TENTH(a, b, c, d, e, f, g, h, i, n, ...) n
#define EACH_ROW(row, type, rest)                     EACH_APPLY(row, (type, EACH_OPEN rest))
#define EACH_APPLY(row, list)                         row list
#define EACH_1(row, rest, type)                       EACH_ROW(row, type, rest)
#define EACH_2(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_1(row, rest, __VA_ARGS__)
#define EACH_3(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_2(row, rest, __VA_ARGS__)
#define EACH_4(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_3(row, rest, __VA_ARGS__)
#define EACH_5(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_4(row, rest, __VA_ARGS__)
#define EACH_6(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_5(row, rest, __VA_ARGS__)
#define EACH_7(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_6(row, rest, __VA_ARGS__)
#define EACH_8(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_7(row, rest, __VA_ARGS__)
#define EACH_9(row, rest, type, ...)                  EACH_ROW(row, type, rest) EACH_8(row, rest, __VA_ARGS__)

#endif
