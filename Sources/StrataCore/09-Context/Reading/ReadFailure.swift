import Foundation

/// Something that could not be read where the call that needed it cannot throw: the row of a fault, the members of a relationship, a large
/// value, a row that a merge was about.
///
/// A record that cannot be read is not a record that is gone: nothing becomes deleted by it. See
/// `ManagedObjectContext.readFailureHandler`.
public struct ReadFailure: Error, Sendable {
  /// Why: a `StorageError`; a `CoreDataError` when the store is not attached any more or the pinned query generation has ended; whatever a
  /// store of another make throws.
  public let error: any Error
  /// The records that could not be read, or whose property could not.
  public let objectIDs: [ManagedObjectID]
  /// The relationship or the large attribute that could not be read; nil when it was the row.
  public let propertyName: String?

  init(_ error: any Error, _ objectIDs: [ManagedObjectID], property: String? = nil) {
    self.error = error
    self.objectIDs = objectIDs
    propertyName = property
  }
}

extension ReadFailure: CustomStringConvertible {
  /// What could not be read, and why, in one line.
  public var description: String { text("\(error)") }

  fileprivate func text(_ why: String) -> String {
    guard let first = objectIDs.first else { return "a record could not be read: \(why)" }
    var what = "\(first.entityName)/p\(first.primaryKey)"
    if let propertyName { what += ".\(propertyName)" }
    if objectIDs.count > 1 { what += " and \(objectIDs.count - 1) others" }
    return "\(what) could not be read: \(why)"
  }
}

extension ReadFailure: ValuelessError {
  /// The same with type and code of the error, whose text may have values.
  package var textWithoutValues: String { text(error.spelledWithoutValues) }
}

/// What came of looking for the row of a record.
enum RowReading {
  case found
  /// There is no such record.
  case gone
  /// It is unknown now whether there is one.
  case unreadable(any Error)
}

/// What came of looking for the newest row of a record.
enum NewestRow {
  case row(RowSnapshot)
  case gone
  case unreadable
}
