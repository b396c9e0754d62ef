/* tuned_rows.h - the user's tuned rows without a search: shown, exported, imported and removed. Of the wish they take
 * the engine (NULL: all), the device and the streams. */
#ifndef TILEWRIGHT_TUNED_ROWS_H
#define TILEWRIGHT_TUNED_ROWS_H

#include "tuning.h"

exit_code tuned_show(const tuning_wish *wish);
exit_code tuned_export(const tuning_wish *wish, const char *to, bool force);
exit_code tuned_forget(tuning_wish *wish);

/* tuned_import - judge and time the rows of a file, and keep those that are faster here: tuned_import.c. */
exit_code tuned_import(const tuning_wish *wish, const char *path);

bool tuned_is_wanted(const tuning_wish *wish, const char *engine); /* is a row of this engine among those? */

#endif
