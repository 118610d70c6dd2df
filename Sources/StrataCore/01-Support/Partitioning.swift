extension Range<Int> {
  /// The first number for which `isBehind` is true, or the end: it must be false up to some number and true from there on.
  @inline(__always)
  func partitioningIndex(where isBehind: (Int) throws -> Bool) rethrows -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = (low + high) / 2
      if try isBehind(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
