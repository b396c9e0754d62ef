/* predicted.h - `tilewright ladder --gpu MODEL`: the ladder as the access model predicts it; nothing is run. */
#ifndef TILEWRIGHT_PREDICTED_H
#define TILEWRIGHT_PREDICTED_H

#include "session.h"

exit_code predicted_ladder(session *s);

#endif
