/// Finds what somebody probably meant who has misspelled a name.
package enum SimilarNames {
  /// The one of `names` that was probably meant; nil when none is like `word`.
  package static func nearest(_ word: String, among names: some Sequence<String>) -> String? {
    let lowered = word.lowercased()
    var best: (name: String, distance: Int)?
    for name in names.sorted() {
      let candidate = name.lowercased()
      let distance =
        !lowered.isEmpty && (candidate.hasPrefix(lowered) || lowered.hasPrefix(candidate))
        ? 1 : Self.distance(lowered, candidate)
      if distance <= max(1, min(2, word.count / 2)), distance < best?.distance ?? .max {
        best = (name, distance)
      }
    }
    return best?.name
  }

  /// How many letters have to be put in, taken out or exchanged.
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    if abs(left.count - right.count) > 3 { return 4 }
    var row = Array(0...right.count)
    for (place, letter) in left.enumerated() {
      var corner = row[0]
      row[0] = place + 1
      for (column, other) in right.enumerated() {
        let next = letter == other ? corner : min(corner, row[column], row[column + 1]) + 1
        corner = row[column + 1]
        row[column + 1] = next
      }
    }
    return row[right.count]
  }
}

extension EntitySchema {
  /// The property that was probably meant by a name that none has.
  func similarProperty(_ name: String) -> String? {
    SimilarNames.nearest(name, among: attributes.map(\.name).filter { !$0.hasPrefix("~") } + computed.keys)
  }
}
