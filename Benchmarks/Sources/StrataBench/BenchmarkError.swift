/// A sentence that ends the run: results that differ, a peer that fails.
struct BenchmarkError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) {
    self.description = description
  }
}
