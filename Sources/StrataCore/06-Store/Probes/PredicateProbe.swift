import Foundation

/// Reads bytes as a recipe for a fetch request and takes it through everything a fetch does before it reads rows.
enum PredicateProbe {
  static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let schema = DecoderProbe.schema else { preconditionFailure("the model of the probes is valid") }
    var recipe = Recipe(bytes: bytes)
    var request = FetchRequest<ManagedObjectID>(entityName: recipe.byte() & 7 == 0 ? "Part" : "Whole")
    request.predicate = recipe.predicate(depth: 0)
    request.fetchLimit = recipe.integer()
    request.fetchOffset = recipe.integer()
    for _ in 0..<(recipe.byte() & 3) {
      request.sortDescriptors.append(FetchSort(recipe.key(), ascending: recipe.byte() & 1 == 0))
    }
    guard let resolved = try? ResolvedFetchRequest(request, schema: schema) else { return false }
    for mode in [FetchMode.rows, .count] {
      _ = FetchPlanner.plan(resolved, mode: mode, storeIdentifier: UUID()).description
    }
    let program = resolved.binder(storeIdentifier: identifier).compile(
      resolved.predicate, resolved.entity.number)
    if program.isLocal { evaluate(program, resolved.entity, schema, &recipe) }
    return true
  }

  /// On values and on the row of these values the answer must be the same.
  private static func evaluate(
    _ program: CompiledPredicate, _ entity: EntitySchema, _ schema: Schema, _ recipe: inout Recipe
  ) {
    let values = entity.attributes.map { attribute in
      attribute.isTransient
        ? AttributeValue.null : AttributeValue(recipe.value().anyValue, type: attribute.type) ?? .null
    }
    var writer = RowSlabWriter()
    guard
      let row = try? RowEncoder.encode(
        layout: entity.layout, stamp: RowStamp(layoutNumber: 1, entityCode: 1), primaryKey: 1, version: 1,
        base: nil, draft: RowDraft.make(entity.layout, defaults: values), into: &writer),
      row.externals.isEmpty
    else { return }
    let inMemory = try? Evaluation(ValuesView(schema, identifier, entity)).matches(
      program, ValuesView.Node(primaryKey: 1, values: values))
    let stored = row.snapshot.withBytes { bytes in
      try? program.evaluate(
        row: bytes.baseAddress.unsafelyUnwrapped, table: entity.layout.table, primaryKey: 1,
        large: { _ in .null },
        other: { try program.texts[Int($0.firstOperand)].matches(values[Int($0.slot)]) })
    }
    precondition(inMemory == stored, "a predicate means the same in memory and in the store")
  }

  private static let identifier = UUID()

  static func samples() -> [[UInt8]] {
    var generator = UInt64(0x5EED)
    return (0..<24).map { length in
      (0..<(8 + length * 6)).map { _ in
        generator = generator &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: generator >> 33)
      }
    }
  }
}

/// Values in memory as an object without relations.
final class ValuesView: ObjectView {
  struct Node {
    let primaryKey: UInt64
    /// By slot; those beyond are null.
    let values: [AttributeValue]
  }
  let schema: Schema
  let storeIdentifier: UUID
  private let entity: EntitySchema

  init(_ schema: Schema, _ storeIdentifier: UUID, _ entity: EntitySchema) {
    (self.schema, self.storeIdentifier, self.entity) = (schema, storeIdentifier, entity)
  }

  func reference(_ node: Node) -> UInt64 { Reference.bits(node.primaryKey, entityCode: 1) }
  func entityName(_ node: Node) -> String { entity.name }
  func value(_ node: Node, _ slot: Int) -> AttributeValue {
    slot < node.values.count ? node.values[slot] : .null
  }
  func node(_ reference: UInt64, hierarchy: Int) -> Node? { nil }
  func members(_ node: Node, _ relationship: RelationshipSchema) -> [UInt64] { [] }
  func memberCount(_ node: Node, _ relationship: RelationshipSchema) -> Int { 0 }
}

/// Bytes as choices; zeros when they run out.
private struct Recipe {
  let bytes: UnsafeRawBufferPointer
  var place = 0

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func byte() -> UInt8 {
    guard place < bytes.count else { return 0 }
    defer { place += 1 }
    return bytes[place]
  }

  mutating func word() -> UInt64 { (0..<8).reduce(0) { word, _ in word << 8 | UInt64(byte()) } }

  mutating func integer() -> Int {
    switch byte() & 7 {
    case 0: Int(truncatingIfNeeded: word())
    case 1: .max
    case 2: -1
    default: Int(byte())
    }
  }

  mutating func key() -> String {
    let choice = byte()
    if choice < 224, let entity = DecoderProbe.schema?.entity(named: "Whole") {
      return entity.attributes[Int(choice) % entity.attributes.count].name
    }
    return text()
  }

  mutating func text() -> String {
    let count = Int(byte() & 31)
    return String(decoding: (0..<count).map { _ in byte() }, as: UTF8.self)
  }

  mutating func value() -> AttributeValue {
    switch byte() % 13 {
    case 0: return .null
    case 1: return .integer(Int64(bitPattern: word()))
    case 2: return .integer(Int64(Int8(bitPattern: byte())))
    case 3: return .boolean(byte() & 1 == 1)
    case 4: return .double(Double(bitPattern: word()))
    case 5: return .float(Float(bitPattern: UInt32(truncatingIfNeeded: word())))
    case 6: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: word())))
    case 7: return .data(Data(text().utf8))
    case 8: return .uuid(UUID(uuid: (byte(), byte(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte())))
    case 9: return URL(string: text()).map { .url($0) } ?? .null
    case 10:
      return .decimal(
        Decimal(
          sign: byte() & 1 == 0 ? .plus : .minus, exponent: Int(Int8(bitPattern: byte())),
          significand: Decimal(word() >> 8)))
    default: return .string(text())
    }
  }

  mutating func predicate(depth: Int) -> FetchPredicate {
    let choice = byte() % 12
    if depth > 20 || place >= bytes.count { return choice & 1 == 0 ? .everything : .nothing }
    switch choice {
    case 0: return .and((0..<(byte() & 3)).map { _ in predicate(depth: depth + 1) })
    case 1: return .or((0..<(byte() & 3)).map { _ in predicate(depth: depth + 1) })
    case 2: return .not(predicate(depth: depth + 1))
    case 3: return .in(key: key(), (0..<(byte() & 15)).map { _ in value() })
    case 4: return .between(key: key(), low: value(), high: value())
    default:
      let operations = ComparisonOperator.allCases
      return .comparison(key: key(), operations[Int(byte()) % operations.count], value())
    }
  }
}
