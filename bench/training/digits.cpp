// SPDX-License-Identifier: Apache-2.0
#include "digits.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace training {

labelled_images read_digits(std::string const& path) {
  std::ifstream file(path);
  labelled_images data;
  for (std::string line; std::getline(file, line);) {
    std::istringstream numbers(line);
    std::vector<int> values;
    for (std::string number; std::getline(numbers, number, ',');)
      values.push_back(std::stoi(number));
    if (values.size() != data.pixels + 1 || values.back() < 0 ||
        values.back() >= static_cast<int>(data.classes))
      throw std::runtime_error("line " + std::to_string(data.labels.size() + 1) + " of '" + path +
                               "' is not 64 pixels and a digit: " + line);
    data.labels.push_back(static_cast<std::uint8_t>(values.back()));
    values.pop_back();
    for (int const v : values) data.images.push_back(static_cast<float>(v) / 16);
  }
  if (data.labels.size() < 100)
    throw std::runtime_error("there are " + std::to_string(data.labels.size()) + " digits in '" +
                             path + "', and at least 100 are needed");
  return data;
}

}  // namespace training
