// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "audit.hpp"
#include "verdict.hpp"

/// All that an audit found, for people: a page of HTML that needs no other file and no script.
std::string page_of(audit const& a, verdict const& v);
