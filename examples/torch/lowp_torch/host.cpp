// SPDX-License-Identifier: Apache-2.0
// Tells optimizer.py in one pass if the arrays of its last step serve the next one too. It calls C
// functions that Python and PyTorch promise to keep, and needs no header of theirs. PyTorch has
// torch_tensor_from_pyobject from 2.14. Tensor.grad and this rank's part of a DTensor have no such
// function: Python gives them.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

struct PyObject;
extern "C" {
PyObject* PyObject_GetAttr(PyObject*, PyObject*);
PyObject* PyObject_CallMethodObjArgs(PyObject*, PyObject*, ...);
PyObject* PyUnicode_InternFromString(char const*);
PyObject* PyList_GetItem(PyObject*, std::ptrdiff_t);
std::ptrdiff_t PyList_Size(PyObject*);
PyObject* PyDict_GetItem(PyObject*, PyObject*);
int PyDict_SetItem(PyObject*, PyObject*, PyObject*);
int PyDict_Next(PyObject*, std::ptrdiff_t*, PyObject**, PyObject**);
std::ptrdiff_t PyDict_Size(PyObject*);
int PyObject_RichCompareBool(PyObject*, PyObject*, int);
void PyErr_Clear();
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
}

namespace {

using handle = void*;  // AtenTensorHandle

/// Holds what PyTorch has. A function that failed returns another value than 0.
struct torch_functions {
  int (*from_object)(PyObject*, handle*);
  int (*destroy)(handle);
  int (*data)(handle, void**);
  int (*layout)(handle, std::int32_t*);
  int (*dtype)(handle, std::int32_t*);
  int (*device)(handle, std::int32_t*);
  int (*device_index)(handle, std::int32_t*);
  int (*dimensions)(handle, std::int64_t*);
  int (*sizes)(handle, std::int64_t**);
  int (*strides)(handle, std::int64_t**);

  bool load() {
    void* library = nullptr;
    for (char const* const name : {"libtorch_python.so", "libtorch_python.dylib"})
      if (library == nullptr) library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    auto const find = [&](auto& function, char const* name) {
      if (library != nullptr)
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return library != nullptr && function != nullptr;
    };
    return find(from_object, "torch_tensor_from_pyobject") &&
           find(destroy, "aoti_torch_delete_tensor_object") &&
           find(data, "aoti_torch_get_data_ptr") && find(layout, "aoti_torch_get_layout") &&
           find(dtype, "aoti_torch_get_dtype") && find(device, "aoti_torch_get_device_type") &&
           find(device_index, "aoti_torch_get_device_index") &&
           find(dimensions, "aoti_torch_get_dim") && find(sizes, "aoti_torch_get_sizes") &&
           find(strides, "aoti_torch_get_strides");
  }
} call;

struct destroyer {
  void operator()(handle tensor) const { call.destroy(tensor); }
};
using tensor_handle = std::unique_ptr<void, destroyer>;

tensor_handle handle_of(PyObject* object) {
  handle tensor = nullptr;
  if (object == nullptr) return nullptr;
  if (call.from_object(object, &tensor) != 0) PyErr_Clear(), tensor = nullptr;
  return tensor_handle(tensor);
}

/// Describes the memory of a tensor.
struct description {
  void* data = nullptr;
  std::int32_t kind[4] = {};  // layout, dtype, device, its index
  std::int64_t dimensions = 0;
  std::int64_t *sizes = nullptr, *strides = nullptr;  // borrowed

  /// Returns false if the tensor has no such memory.
  bool read(handle t) {
    return t != nullptr && call.data(t, &data) == 0 && call.layout(t, &kind[0]) == 0 &&
           call.dtype(t, &kind[1]) == 0 && call.device(t, &kind[2]) == 0 &&
           call.device_index(t, &kind[3]) == 0 && call.dimensions(t, &dimensions) == 0 &&
           call.sizes(t, &sizes) == 0 && call.strides(t, &strides) == 0;
  }
};

/// Remembers the memory of a tensor.
struct memory {
  tensor_handle tensor;
  void* data = nullptr;
  std::int32_t kind[4] = {};
  std::vector<std::int64_t> sizes, strides;

  bool set(PyObject* object) {
    description now;
    tensor = handle_of(object);
    if (!now.read(tensor.get())) return false;
    data = now.data;
    std::copy_n(now.kind, 4, kind);
    sizes.assign(now.sizes, now.sizes + now.dimensions);
    strides.assign(now.strides, now.strides + now.dimensions);
    return true;
  }
  /// Returns whether a tensor has this type, and the layout, device, sizes and strides of this one.
  bool is_like(description const& other, std::int32_t dtype) const {
    if (other.kind[1] != dtype || other.kind[0] != kind[0] ||
        !std::equal(kind + 2, kind + 4, other.kind + 2) ||
        static_cast<std::int64_t>(sizes.size()) != other.dimensions ||
        !std::equal(sizes.begin(), sizes.end(), other.sizes))
      return false;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (strides[i] != other.strides[i] && sizes[i] != 1) return false;
    return true;
  }
  bool is_same(handle t) const {
    description now;
    return now.read(t) && data == now.data && is_like(now, kind[1]);
  }
};

struct object {
  PyObject* it;
  explicit object(PyObject* given) : it(given) { Py_IncRef(it); }  // or null
  object(object&& other) noexcept : it(std::exchange(other.it, nullptr)) {}
  object& operator=(object&& other) noexcept {
    std::swap(it, other.it);
    return *this;
  }
  ~object() {
    if (it != nullptr) Py_DecRef(it);
  }
};

/// Returns what a call of Python has made. A call that failed gives an empty one.
object taken(PyObject* made) {
  if (made == nullptr) return PyErr_Clear(), object(nullptr);
  object result(made);
  Py_DecRef(made);
  return result;
}

/// An entry of a parameter's state: an array of the step, its number, or another one of any value.
struct state_entry {
  enum class role { array, step, other } is;
  object key, value;
  memory tensor;
};

struct range {
  std::uintptr_t begin, end;
};

struct parameter {
  // Python holds both for its garbage collector, which would not see a reference of this table. For
  // the same reason there is no handle of the parameter: a hook of it may know the optimizer.
  PyObject *it, *state;
  bool is_sharded;
  memory value;
  std::vector<state_entry> entries;
  int gradient;              // 0: absent; 1: read here; 2: given by Python
  void** target;             // of the gradient's address
  std::int32_t dtype;        // of the gradient
  std::size_t bytes, width;  // of the gradient and of its elements
  int step_call;             // the number of the call that steps it
};

struct watch {
  std::vector<std::vector<parameter>> groups;
  std::vector<std::pair<PyObject*, PyObject*>> states;  // as they lie in the dict of the optimizer
  std::vector<range> written;
  bool is_whole = true;
};

PyObject *grad_name, *is_neg_name, *step_name, *local_name, *spec_name, *none, *yes, *no;
std::array<PyObject*, 2> placement_names;

object attribute(PyObject* of, PyObject* name) { return taken(PyObject_GetAttr(of, name)); }

/// Returns the tensor, or this rank's part of a DTensor.
object local_of(PyObject* tensor, bool is_sharded) {
  return is_sharded ? attribute(tensor, local_name) : object(tensor);
}

/// Returns whether two DTensors are divided alike.
bool is_placed_as(PyObject* tensor, PyObject* other) {
  constexpr int equal = 2;  // Py_EQ
  object const one = attribute(tensor, spec_name), its = attribute(other, spec_name);
  if (one.it == nullptr || its.it == nullptr) return false;
  return one.it == its.it || std::ranges::all_of(placement_names, [&](PyObject* name) {
           object const a = attribute(one.it, name), b = attribute(its.it, name);
           int const answer =
               a.it == nullptr || b.it == nullptr ? 0 : PyObject_RichCompareBool(a.it, b.it, equal);
           if (answer < 0) PyErr_Clear();
           return answer == 1;
         });
}

/// Returns the bytes of an element. The first dtypes are uint8, int8, int16, int32, int64, float16,
/// float32 and float64; another one here is bfloat16.
std::size_t width_of(std::int32_t dtype) {
  constexpr std::size_t widths[] = {1, 1, 2, 4, 8, 2, 4, 8};
  return dtype < 8 ? widths[dtype] : 2;
}

bool is_negated(object const& tensor) {
  return taken(PyObject_CallMethodObjArgs(tensor.it, is_neg_name, nullptr)).it != no;
}

/// Returns whether memory that a step reads is written too.
bool is_written(watch const& w, range const& read) {
  auto const after = std::upper_bound(w.written.begin(), w.written.end(), read.begin,
                                      [](auto begin, range const& r) { return begin < r.begin; });
  return (after != w.written.end() && after->begin < read.end) ||
         (after != w.written.begin() && std::prev(after)->end > read.begin);
}

/// Reads the gradient of a parameter, and returns whether it is as the table has it.
bool takes_gradient(watch const& w, parameter& p) {
  object const gradient = attribute(p.it, grad_name);
  if (gradient.it == nullptr || (gradient.it != none) != (p.gradient != 0)) return false;
  if (p.gradient != 1) return true;
  object const part = local_of(gradient.it, p.is_sharded);
  if (part.it == nullptr || (p.is_sharded && !is_placed_as(gradient.it, p.it))) return false;
  description now;
  tensor_handle const tensor = handle_of(part.it);
  if (!now.read(tensor.get()) || !p.value.is_like(now, p.dtype) || is_negated(part) ||
      (p.bytes != 0 && now.data == nullptr))
    return false;
  auto const begin = reinterpret_cast<std::uintptr_t>(now.data);
  *p.target = now.data;
  return begin % p.width == 0 && (p.bytes == 0 || !is_written(w, {begin, begin + p.bytes}));
}

bool has_same_value(parameter const& p) {
  object const part = local_of(p.it, p.is_sharded);
  return part.it != nullptr && p.value.is_same(handle_of(part.it).get()) && !is_negated(part);
}

bool is_same_state(parameter const& p) {
  if (PyDict_Size(p.state) != static_cast<std::ptrdiff_t>(p.entries.size())) return false;
  std::ptrdiff_t place = 0;
  PyObject *key, *value;
  for (state_entry const& each : p.entries) {
    if (PyDict_Next(p.state, &place, &key, &value) == 0 || key != each.key.it) return false;
    if (each.is == state_entry::role::other) continue;
    if (value != each.value.it) return false;
    if (each.is != state_entry::role::array) continue;
    tensor_handle part;
    if (p.is_sharded) part = handle_of(local_of(value, true).it);
    if (!each.tensor.is_same((p.is_sharded ? part : each.tensor.tensor).get())) return false;
  }
  return true;
}

}  // namespace

extern "C" {

/// Prepares for this PyTorch. Returns false if it lacks a function.
bool lowp_torch_begin(PyObject* its_none, PyObject* its_true, PyObject* its_false) {
  none = its_none;
  yes = its_true;
  no = its_false;
  grad_name = PyUnicode_InternFromString("grad");
  is_neg_name = PyUnicode_InternFromString("is_neg");
  step_name = PyUnicode_InternFromString("step");
  spec_name = PyUnicode_InternFromString("_spec");
  local_name = PyUnicode_InternFromString("_local_tensor");
  placement_names = {PyUnicode_InternFromString("placements"), PyUnicode_InternFromString("mesh")};
  return call.load();
}

watch* lowp_torch_watch(std::size_t groups) {
  auto* const made = new watch;
  made->groups.resize(groups);
  return made;
}
void lowp_torch_unwatch(watch* w) { delete w; }

/// Remembers a parameter of a group. `roles` is a dict with True for the states that are arrays of
/// the step, and False for its number.
void lowp_torch_remember(watch* w, std::size_t group, PyObject* p, PyObject* state, PyObject* roles,
                         bool is_sharded, int gradient, void** target, std::size_t elements,
                         int step_call) {
  parameter made{p, state, is_sharded, {}, {}, gradient, target, 0, 0, 0, step_call};
  w->is_whole = made.value.set(local_of(p, is_sharded).it) && w->is_whole;
  made.value.tensor.reset();
  if (gradient == 1) {
    object const its = attribute(p, grad_name);
    tensor_handle const tensor = handle_of(local_of(its.it, is_sharded).it);
    w->is_whole = call.dtype(tensor.get(), &made.dtype) == 0 && w->is_whole;
    made.width = width_of(made.dtype);
    made.bytes = elements * made.width;
  }
  auto const add_range = [&](memory const& m, std::size_t count) {
    auto const begin = reinterpret_cast<std::uintptr_t>(m.data);
    if (count != 0) w->written.push_back({begin, begin + count * width_of(m.kind[1])});
  };
  if (gradient != 0) add_range(made.value, elements);
  std::ptrdiff_t place = 0;
  PyObject *key, *value;
  while (gradient != 0 && PyDict_Next(state, &place, &key, &value) != 0) {
    PyObject* const role = PyDict_GetItem(roles, key);
    using enum state_entry::role;
    state_entry entry{role == nullptr ? other
                      : role == yes   ? array
                                      : step,
                      object(key),
                      object(role == nullptr ? none : value),
                      {}};
    if (entry.is == array) {
      w->is_whole = entry.tensor.set(local_of(value, is_sharded).it) && w->is_whole;
      std::size_t count = 1;
      for (std::int64_t const size : entry.tensor.sizes) count *= static_cast<std::size_t>(size);
      add_range(entry.tensor, count);
    }
    made.entries.push_back(std::move(entry));
  }
  w->groups[group].push_back(std::move(made));
}

/// Ends the remembering. `states` is the dict of the optimizer's states.
void lowp_torch_seal(watch* w, PyObject* states) {
  std::ptrdiff_t place = 0;
  PyObject *key, *value;
  while (PyDict_Next(states, &place, &key, &value) != 0) w->states.emplace_back(key, value);
  std::sort(w->written.begin(), w->written.end(),
            [](range const& a, range const& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < w->written.size(); ++i)
    if (w->written[i].begin < w->written[i - 1].end) w->is_whole = false;
}

/// Returns whether all is as it was remembered, and writes the addresses of the gradients. `params`
/// is a list of a list for each group.
bool lowp_torch_is_fresh(watch* w, PyObject* params, PyObject* states) {
  if (!w->is_whole || PyList_Size(params) != static_cast<std::ptrdiff_t>(w->groups.size()) ||
      PyDict_Size(states) != static_cast<std::ptrdiff_t>(w->states.size()))
    return false;
  std::ptrdiff_t place = 0;
  PyObject *key, *value;
  for (auto const& each : w->states)
    if (PyDict_Next(states, &place, &key, &value) == 0 || std::pair(key, value) != each)
      return false;
  for (std::size_t i = 0; i < w->groups.size(); ++i) {
    PyObject* const list = PyList_GetItem(params, static_cast<std::ptrdiff_t>(i));
    std::vector<parameter>& group = w->groups[i];
    if (PyList_Size(list) != static_cast<std::ptrdiff_t>(group.size())) return false;
    for (std::size_t j = 0; j < group.size(); ++j) {
      parameter& p = group[j];
      if (PyList_GetItem(list, static_cast<std::ptrdiff_t>(j)) != p.it || !takes_gradient(*w, p))
        return false;
      if (p.gradient != 0 && (!has_same_value(p) || !is_same_state(p))) return false;
    }
  }
  return true;
}

/// Gives the parameters of a call their next step number.
void lowp_torch_advance(watch* w, int step_call, PyObject* step) {
  for (std::vector<parameter>& group : w->groups)
    for (parameter& p : group) {
      if (p.gradient == 0 || p.step_call != step_call) continue;
      PyDict_SetItem(p.state, step_name, step);
      for (state_entry& each : p.entries)
        if (each.is == state_entry::role::step) each.value = object(step);
    }
}

}  // extern "C"
