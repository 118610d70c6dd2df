import Foundation

/// The row that the handler of a ``BatchInsertRequest`` fills: values by column, without a dictionary.
///
/// Columns are numbered from 0, as the request lists them. What is not set has its default. Only for the time of the call.
public struct BatchRow: ~Copyable {
  let properties: BatchProperties
  /// By column.
  let slots: [Int]
  /// By column; nil for what takes no plain value: relationships, composite and transformable attributes.
  let types: [AttributeType?]
  /// By column: how rows hold such values; `transient` for what takes no plain value.
  private let kinds: [SlotKind]
  var draft: RowDraft
  /// The first value that was refused.
  var failure: (any Error)?

  /// - Throws: `CoreDataError` for a column that a batch does not write, or that comes twice.
  init(_ columns: [String], _ properties: BatchProperties, _ draft: RowDraft) throws {
    for (column, name) in columns.enumerated() where columns[..<column].contains(name) {
      throw CoreDataError(.coreData, "A batch insert lists the column “\(name)” twice.")
    }
    let slots = try columns.map { try properties.slot($0) }
    self.properties = properties
    self.draft = draft
    self.slots = slots
    types = slots.map(properties.plainType)
    kinds = zip(slots, types).map { slot, type in
      type == nil ? .transient : properties.entity.layout.kind(of: slot)
    }
  }

  /// Sets the value in `column`. Traps when there is no such column.
  ///
  /// A value that the attribute does not take is refused when the handler returns: the request throws, and nothing is inserted.
  public mutating func set<Value: AttributeRepresentable>(_ column: Int, _ value: Value) {
    set(column, value.storedValue)
  }

  /// Sets the value in `column`, or none for nil. Traps when there is no such column.
  public mutating func set<Value: AttributeRepresentable>(_ column: Int, _ value: Value?) {
    set(column, value?.storedValue ?? .null)
  }

  // The most common types once more, without a value of any type in between.

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: Int64) {
    guard kinds[column] == .int64 else { return set(column, .integer(value)) }
    draft.pointers.put(bits: UInt64(bitPattern: value), slots[column])
  }

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: Int) { set(column, Int64(value)) }

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: Double) {
    guard kinds[column] == .double else { return set(column, .double(value)) }
    draft.pointers.put(bits: value.bitPattern, slots[column])
  }

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: Bool) {
    guard kinds[column] == .boolean else { return set(column, .boolean(value)) }
    draft.pointers.put(bits: value ? 1 : 0, slots[column])
  }

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: Date) {
    guard kinds[column] == .date else { return set(column, .date(value)) }
    draft.pointers.put(bits: value.timeIntervalSinceReferenceDate.bitPattern, slots[column])
  }

  /// Sets the value in `column`, as any other; a little quicker.
  public mutating func set(_ column: Int, _ value: String) {
    guard kinds[column] == .string else { return set(column, .string(value)) }
    draft.pointers.put(value, slots[column])
  }

  /// Sets the value in `column` as a row holds it: `.integer`, `.string` and so on, or `.null`. Traps when there is no such column.
  public mutating func set(_ column: Int, _ value: AttributeValue) {
    guard let type = types[column], value.fits(type) else {
      return setValue(value.anyValue, forColumn: column)
    }
    draft[slots[column]] = value
  }

  /// Sets whatever `setValue(_:forKey:)` takes in `column`; the ID of a saved object for a to-one relationship, a dictionary for a composite attribute.
  /// Traps when there is no such column.
  public mutating func setValue(_ value: Any?, forColumn column: Int) {
    do {
      try properties.forEachValue(slots[column], value) { slot, value in draft[slot] = value }
    } catch {
      if failure == nil { failure = error }
    }
  }
}
