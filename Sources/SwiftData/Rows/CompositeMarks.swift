import StrataCore

/// Finds the field of a struct that a key path leads to, where the key path cannot be put together to be compared: `\Trip.place?.city`.
///
/// The key path is followed on structs whose fields have values of their own. In each round one field has a value that the others have not, first one of two and then the other one.
/// A field is what a key path leads to that shows the field's value in every round; what is computed of fields does not.
struct CompositeMarks {
  /// A field that can be marked, by its path of names, with its two values.
  private struct Leaf {
    let path: [String]
    let storage: AttributeStorage
    let plain: AttributeValue
    let marked: AttributeValue
  }
  private let shape: CompositeShape
  private let leaves: [Leaf]

  init(_ shape: CompositeShape) {
    self.shape = shape
    leaves = Self.leaves(of: shape, [])
  }

  /// What followed composite attributes answer.
  @TaskLocal static var answer: (@Sendable (CompositeShape) -> Any)?

  /// The path of names of the field, joined by dots; nil when the key path leads to no field.
  ///
  /// - Throws: what `follow` throws, which answers what the key path shows.
  func name(_ follow: () throws -> Any) throws -> String? {
    var left = Array(leaves.indices)
    for round in leaves.indices {
      for isInverse in [false, true] where !left.isEmpty {
        let elements = try elements { ($0 == round) != isInverse }
        let value = try shape.value(of: elements)
        // Unsafe: it stays on this thread.
        nonisolated(unsafe) let answer = value
        let found = try Self.$answer.withValue({ _ in answer }) { try follow() }
        left = left.filter { leaf in
          let expected = (leaf == round) != isInverse ? leaves[leaf].marked : leaves[leaf].plain
          return (try? leaves[leaf].storage.stored(found)) == expected
        }
      }
    }
    return left.count == 1 ? leaves[left[0]].path.joined(separator: ".") : nil
  }

  private func elements(_ isMarked: (Int) -> Bool) throws -> [String: Any] {
    var elements = try shape.elements(of: shape.placeholder)
    for (place, leaf) in leaves.enumerated() {
      Self.set((isMarked(place) ? leaf.marked : leaf.plain).anyValue, leaf.path[...], in: &elements)
    }
    return elements
  }

  private static func set(_ value: Any?, _ path: ArraySlice<String>, in elements: inout [String: Any]) {
    guard let name = path.first else { return }
    if path.count == 1 {
      elements[name] = value
    } else {
      var inner = elements[name] as? [String: Any] ?? [:]
      set(value, path.dropFirst(), in: &inner)
      elements[name] = inner
    }
  }

  private static func leaves(of shape: CompositeShape, _ path: [String]) -> [Leaf] {
    shape.fields.flatMap { field -> [Leaf] in
      let path = path + [field.name]
      if case .composite(let inner) = field.storage.form { return leaves(of: inner, path) }
      guard let (plain, marked) = marks(field.storage) else { return [] }
      return [Leaf(path: path, storage: field.storage, plain: plain, marked: marked)]
    }
  }

  /// Two values of a field; nil where none are known.
  private static func marks(_ storage: AttributeStorage) -> (AttributeValue, AttributeValue)? {
    guard case .scalar(let type) = storage.form else { return nil }
    var found = marks(type)
    if let cases = storage.valueType as? any CaseIterable.Type {
      found = cases.everyCase.compactMap { try? storage.stored($0) }
    } else {
      found = found.filter { (try? storage.value($0)).flatMap(\.self) != nil }
    }
    guard let first = found.first, let last = found.last, first != last else { return nil }
    return (first, last)
  }

  private static func marks(_ type: AttributeType) -> [AttributeValue] {
    switch type {
    // Small enough for a byte.
    case .integer16, .integer32, .integer64: [.integer(113), .integer(45)]
    case .double: [.double(113.5), .double(45.25)]
    case .float: [.float(113.5), .float(45.25)]
    case .decimal: [.decimal(113), .decimal(45)]
    case .boolean: [.boolean(false), .boolean(true)]
    case .string: ["a mark of Strata", "another mark of Strata"].map { .string($0) }
    case .date: [113.5, 45.25].map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .binaryData: [Data([0xA5, 1]), Data([0xA5, 2])].map { .data($0) }
    case .uuid: [113, 45].map { .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, $0))) }
    case .uri: ["strata:mark", "strata:other"].compactMap { URL(string: $0) }.map { .url($0) }
    case .undefined, .transformable, .objectID, .composite: []
    }
  }
}

extension CaseIterable {
  fileprivate static var everyCase: [Any] { Array(allCases) }
}
