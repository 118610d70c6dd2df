import StrataCore

/// Finds the field of a struct that a key path leads to, where the key path cannot be put together to be compared: `\Trip.place?.city`.
///
/// The key path is followed on structs whose fields have values of their own. In each round one field has a value that the others have not, first one of two and then the other one.
/// A field is what a key path leads to that shows the field's value in every round; what is computed of fields does not.
struct CompositeMarks {
  /// A field that can be marked, by its path of names.
  private struct Leaf {
    let path: [String]
    let storage: AttributeStorage
    let type: AttributeType
    /// Different values, at least two. Those of an enumeration are all that there are.
    let values: [AttributeValue]
    var plain: AttributeValue { values[0] }
    var marked: AttributeValue { values[values.count - 1] }

    /// Whether something is a value of the field, or the raw value of one.
    func shows(_ found: Any, _ value: AttributeValue) -> Bool {
      ((try? storage.stored(found)) ?? AttributeValue(found, type: type)) == value
    }
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
        func value(_ place: Int) -> AttributeValue {
          (place == round) != isInverse ? leaves[place].marked : leaves[place].plain
        }
        let found = try shown(follow, value)
        left = left.filter { leaves[$0].shows(found, value($0)) }
      }
    }
    guard left.count == 1, let place = left.first else { return nil }
    // What an enumeration says of two cases it need not say of all.
    for value in leaves[place].values {
      let found = try shown(follow) { $0 == place ? value : leaves[$0].plain }
      if !leaves[place].shows(found, value) { return nil }
    }
    return leaves[place].path.joined(separator: ".")
  }

  /// What the key path shows of a struct whose fields have these values.
  private func shown(_ follow: () throws -> Any, _ value: (Int) -> AttributeValue) throws -> Any {
    var elements = try shape.elements(of: shape.placeholder)
    for (place, leaf) in leaves.enumerated() {
      Self.set(value(place).anyValue, leaf.path[...], in: &elements)
    }
    // Unsafe: it stays on this thread.
    nonisolated(unsafe) let answer = try shape.value(of: elements)
    return try Self.$answer.withValue({ _ in answer }) { try follow() }
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
      guard case .scalar(let type) = field.storage.form else { return [] }
      let values = values(field.storage, type)
      return values.count < 2 ? [] : [Leaf(path: path, storage: field.storage, type: type, values: values)]
    }
  }

  /// The values of an enumeration, or two values of anything else; fewer where they are not known.
  private static func values(_ storage: AttributeStorage, _ type: AttributeType) -> [AttributeValue] {
    if let cases = storage.valueType as? any CaseIterable.Type {
      var seen: Set<AttributeValue> = []
      return cases.everyCase.compactMap { try? storage.stored($0) }.filter { seen.insert($0).inserted }
    }
    return marks(type).filter { (try? storage.value($0)).flatMap(\.self) != nil }
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
