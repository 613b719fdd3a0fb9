// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit.hpp"
#include "difference.hpp"
#include "files/text.hpp"
#include "pages/verdict.hpp"

/// All that an audit found, for programs.
void write_json(audit const& a, verdict const& v, bool is_scaled, sink const& to);

/// All that differs between two models.
void write_json(difference const& d, sink const& to);
