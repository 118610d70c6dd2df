import StrataCore
import Synchronization

/// The number of a model's temporary identifier, and by what the model has been hashed.
struct ModelNumber {
  enum Hash: UInt8 {
    /// It has not been.
    case none
    /// By the number, of which nobody else knows.
    case number
    /// By the number, and instances of the row in other contexts as well: ``ModelHashes`` counts the row.
    case sharedNumber
    /// By the number, and other instances of the row in another way: it was there before the model was.
    case ownNumber
    /// By the final identifier.
    case identifier
  }

  /// The number; 0 while nobody has asked.
  var value: UInt64 = 0
  var hash = Hash.none
}

/// Which rows have models that are hashed by numbers.
///
/// The hash of a model that was hashed before its first save stays what it was, or a set that holds the model would not find it afterwards. Instances of the row in other contexts
/// are equal to the model and have the same hash, as long as any of them lives that was hashed so; but for those that were hashed before the save was over, and of a row that was there
/// before the model became it. Any thread.
enum ModelHashes {
  private struct Table {
    var numbers: [PersistentIdentifier: UInt64] = [:]
    var rows: [UInt64: (identifier: PersistentIdentifier, count: Int)] = [:]
  }
  private static let table = Mutex(Table())
  /// How many rows are counted: mostly none, and then nobody waits for the table.
  private static let count = Atomic<Int>(0)

  /// A model that is hashed by a number has got its final identifier. False when another number belongs to that.
  static func add(_ identifier: PersistentIdentifier, _ number: UInt64) -> Bool {
    table.withLock { table in
      if let known = table.numbers[identifier], known != number { return false }
      table.numbers[identifier] = number
      table.rows[number, default: (identifier, 0)].count += 1
      count.wrappingAdd(1, ordering: .relaxed)
      return true
    }
  }

  /// The number of a row that another context has; from now on it is this row's as well.
  static func take(_ identifier: PersistentIdentifier) -> UInt64? {
    if count.load(ordering: .relaxed) == 0 { return nil }
    return table.withLock { table in
      guard let number = table.numbers[identifier] else { return nil }
      table.rows[number]?.count += 1
      count.wrappingAdd(1, ordering: .relaxed)
      return number
    }
  }

  /// A row with the number has gone.
  static func release(_ number: UInt64) {
    table.withLock { table in
      guard let (identifier, rows) = table.rows[number] else { return }
      count.wrappingSubtract(1, ordering: .relaxed)
      if rows > 1 {
        table.rows[number]?.count = rows - 1
      } else {
        table.rows[number] = nil
        table.numbers[identifier] = nil
      }
    }
  }
}

extension ModelRow {
  /// What the model is hashed by: the number of the identifier that it had when it was first hashed; nil for the final identifier.
  final var hashNumber: UInt64? {
    switch _number.hash {
    case .none:
      let identifier = objectID
      if identifier.isTemporaryID {
        _ = temporaryNumber
        _number.hash = .number
      } else if let number = ModelHashes.take(PersistentIdentifier(identifier)) {
        _number = ModelNumber(value: number, hash: .sharedNumber)
      } else {
        _number.hash = .identifier
        return nil
      }
    case .number: shareHash()
    case .sharedNumber, .ownNumber: break
    case .identifier: return nil
    }
    return _number.value
  }

  /// Other instances of the row are to be hashed as this one was before it was saved.
  final func shareHash() {
    guard _number.hash == .number else { return }
    let identifier = objectID
    if identifier.isTemporaryID { return }
    let isShared = ModelHashes.add(PersistentIdentifier(identifier), _number.value)
    _number.hash = isShared ? .sharedNumber : .ownNumber
  }

  /// The instance of another row shows this one from now on: its hash stays, unless this row has one already.
  final func takeHash(of other: ModelRow) {
    guard _number.hash == .none, other._number.hash == .number else { return }
    _number = ModelNumber(value: other._number.value, hash: .ownNumber)
  }

  /// The row is inserted again: unless it was hashed and never saved, it is about to be another row.
  final func renumber() {
    if _number.hash == .number { return }
    forgetNumber()
  }

  /// The row has no identity of before it was saved any more, and gets another one when somebody asks.
  final func forgetNumber() {
    endSharing()
    _number = ModelNumber()
  }

  final func endSharing() { if _number.hash == .sharedNumber { ModelHashes.release(_number.value) } }
}
