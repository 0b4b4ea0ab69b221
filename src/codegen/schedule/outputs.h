// How Python objects are made of graph values: results and operands of extern calls.
#pragma once

#include "schedule/plan.h"

namespace numlift::codegen {

ValueRef value_ref(const Plan& plan, NodeId id);

}  // namespace numlift::codegen
