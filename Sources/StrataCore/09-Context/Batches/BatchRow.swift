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

  /// Sets the value in `column` as a row holds it: `.integer`, `.string` and so on, or `.null`. The quickest way. Traps when there is no such column.
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
