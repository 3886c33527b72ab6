// SPDX-License-Identifier: Apache-2.0
// The thresholds of tuning.def as constants HLO_TUNING_<NAME>.
#ifndef HLO_BASE_TUNING_H_
#define HLO_BASE_TUNING_H_

enum {
#define HLO_TUNING(name, value, unit, judge, text) HLO_TUNING_##name = (value),
#include "base/tuning.def"
};

#define HLO_TUNING_REAL(name, value, unit, judge, text) \
  static const double HLO_TUNING_##name = value;
#include "base/tuning.def"

#endif  // HLO_BASE_TUNING_H_
