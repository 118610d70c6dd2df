/// A key path as it is written, with the collection operator that may be part of it.
struct FormatKeyPath {
  enum Part {
    case key(String)
    case collectionOperator(String)
  }

  /// The expression that `parts` lead to from `base`, and by how many levels it is deeper; throws what is wrong with them.
  ///
  /// `flights.@avg.delay`, `flights.delay.@avg` and `@avg.flights.delay` are the same.
  static func expression(_ parts: [Part], base: FetchExpression) throws(FormatKeyPathError) -> (
    FetchExpression, levels: Int
  ) {
    var keys: [String] = []
    keys.reserveCapacity(parts.count)
    var aggregate: FetchAggregate?
    for (place, part) in parts.enumerated() {
      switch part {
      case .key(let key):
        guard !key.isEmpty else { throw FormatKeyPathError(text: "a key path has no empty keys") }
        keys.append(key)
      case .collectionOperator(let name):
        guard aggregate == nil else {
          throw FormatKeyPathError(text: "a key path has one collection operator at most")
        }
        guard let found = FetchAggregate(collectionOperator: name) else {
          throw FormatKeyPathError(
            text:
              "the collection operator @\(name) is not evaluated; there are @count, @sum, @avg, @min and @max"
          )
        }
        if found == .count, place < parts.count - 1, place > 0 {
          throw FormatKeyPathError(text: "@count stands at the end of a key path")
        }
        aggregate = found
      }
    }
    if case .aggregate = base {
      throw FormatKeyPathError(text: "an aggregate is a number, which has no keys")
    }
    let path: FetchExpression = keys.isEmpty ? base : .keyPath(base: base, keys: keys)
    let levels = (keys.isEmpty ? 0 : 1) + (aggregate == nil ? 0 : 1)
    return (aggregate.map { .aggregate($0, path) } ?? path, levels)
  }

  /// The parts of a key path given as a text: an argument of `%K`.
  static func parts(_ text: String) -> [Part] {
    text.split(separator: ".", omittingEmptySubsequences: false).map {
      $0.first == "@" ? .collectionOperator(String($0.dropFirst())) : .key(String($0))
    }
  }
}

/// What is wrong with a key path.
struct FormatKeyPathError: Error {
  let text: String
}
