// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "audit.hpp"
#include "files/text.hpp"
#include "pages/verdict.hpp"

/// All that an audit found, for people: a page of HTML that needs no other file and no script.
void write_page(audit const& a, verdict const& v, sink const& to);
