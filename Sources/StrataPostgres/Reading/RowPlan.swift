import StrataCore

/// How the rows of an entity are made of the bytes that the server sends, without a value in between: worked out once for a statement.
struct RowPlan: Sendable {
  /// Where a slot's value is in the result, and what its bytes are.
  private struct Step {
    let slot: Int
    let position: Int
    let form: Form
  }

  private enum Form {
    case int16, int32, int64, boolean, float
    /// The bits of a double, of seconds since the reference date, too.
    case double
    case uuid, bytes
    /// A key, with the code of its entity in the next column, or of the one that it always has.
    case coded
    case key(of: UInt16)
  }

  private let entity: EntitySchema
  private let steps: [Step]

  /// Nil for an entity with URLs or decimals, which rows hold in another form.
  ///
  /// - Parameters:
  ///   - slots: By slot the place of its column in the table, -1 for none.
  ///   - places: By place of a column its position in the result, -1 for those that are not listed.
  init?(
    _ entity: EntitySchema, _ slots: [Int], _ places: [Int], _ mapping: StoreMapping, _ table: TableMapping
  ) {
    var steps: [Step] = []
    for (slot, place) in slots.enumerated() where place >= 0 && places[place] >= 0 {
      let column = table.columns[place]
      let form: Form
      if let relationship = column.relationship {
        form =
          column.codeColumn == nil
          ? .key(of: mapping.soleCode(mapping.schema.relationships[relationship])) : .coded
      } else {
        switch column.kind {
        case .int16: form = .int16
        case .int32: form = .int32
        case .int64: form = .int64
        case .boolean: form = .boolean
        case .float: form = .float
        case .double, .date: form = .double
        case .uuid: form = .uuid
        case .string, .data: form = .bytes
        case .url, .decimal, .reference, .transient: return nil
        }
      }
      steps.append(Step(slot: slot, position: places[place], form: form))
    }
    self.entity = entity
    self.steps = steps
  }

  /// Makes rows by a plan. Used by one thread.
  final class Maker {
    /// The code that the rows have.
    let code: UInt16
    private let plan: RowPlan
    /// By slot. Those that no step concerns stay null.
    private let values: UnsafeMutableBufferPointer<RawValue>

    init(_ plan: RowPlan, code: UInt16) {
      self.plan = plan
      self.code = code
      values = .allocate(capacity: plan.entity.layout.slotCount)
      values.initialize(repeating: .null)
    }

    deinit { values.deallocate() }

    /// The row; nil when something about it needs a closer look, or is damaged.
    func row(_ result: SQLResult, _ number: Int, _ assembler: inout RowAssembler) -> FetchedRow? {
      guard let key = result[number, 0]?.integer(UInt64.self), key < StoreReference.keyLimit,
        let version = result[number, 2]?.integer(UInt32.self), version <= UInt32(Int32.max),
        result[number, 3] == nil
      else { return nil }
      for step in plan.steps {
        guard let value = result[number, step.position] else {
          values[step.slot] = .null
          continue
        }
        guard let raw = Self.raw(value, step, result, number) else { return nil }
        values[step.slot] = raw
      }
      let snapshot = assembler.row(
        of: plan.entity, stamp: RowStamp(layoutNumber: 0, entityCode: code), primaryKey: key,
        version: version, raw: UnsafeBufferPointer(values))
      return snapshot.map { FetchedRow(primaryKey: key, entity: plan.entity.number, snapshot: $0) }
    }

    /// Nil for bytes that are no value of the column.
    @inline(__always)
    private static func raw(_ value: SQLValue, _ step: Step, _ result: SQLResult, _ number: Int) -> RawValue?
    {
      switch step.form {
      case .int16: value.integer(Int16.self).map { .word(UInt64(bitPattern: Int64($0))) }
      case .int32: value.integer(Int32.self).map { .word(UInt64(bitPattern: Int64($0))) }
      case .int64, .double: value.integer(UInt64.self).map { .word($0) }
      case .float: value.integer(UInt32.self).map { .word(UInt64($0)) }
      case .boolean: value.integer(UInt8.self).map { .word($0 == 0 ? 0 : 1) }
      case .uuid: value.bytes.count == 16 ? .bytes(value.bytes) : nil
      case .bytes: .bytes(value.bytes)
      case .key(let code): reference(value, code)
      case .coded:
        result[number, step.position + 1]?.integer(Int16.self).flatMap { UInt16(exactly: $0) }
          .flatMap { reference(value, $0) }
      }
    }

    @inline(__always)
    private static func reference(_ value: SQLValue, _ code: UInt16) -> RawValue? {
      guard let key = value.integer(UInt64.self), key > 0, key < StoreReference.keyLimit else { return nil }
      return .word(StoreReference.bits(key, entityCode: code))
    }
  }
}
