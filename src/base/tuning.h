// SPDX-License-Identifier: Apache-2.0
// The thresholds of tuning.def as constants HLO_TUNING_<NAME>.
#pragma once

enum {
#define HLO_TUNING(name, value, unit, judge, text) HLO_TUNING_##name = (value),
#include "base/tuning.def"
};

#define HLO_TUNING_REAL(name, value, unit, judge, text) \
  static const double HLO_TUNING_##name = value;
#include "base/tuning.def"
