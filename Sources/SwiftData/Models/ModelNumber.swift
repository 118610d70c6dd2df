import StrataCore
import Synchronization

/// The number of a model's temporary identifier, and by what the model has been hashed.
struct ModelNumber {
  private var bits: UInt64 = 0
  // Nobody makes as many models as the other bits count.
  private static let hashed: UInt64 = 1 << 63
  private static let known: UInt64 = 1 << 62
  private static let hashedByKey: UInt64 = 1 << 61
  private static let alone: UInt64 = 1 << 60
  private static let number: UInt64 = alone - 1

  /// The number; 0 while nobody has asked.
  var value: UInt64 {
    get { bits & Self.number }
    set { bits = newValue | bits & ~Self.number }
  }
  /// Whether the number is the model's hash.
  var isHashed: Bool {
    get { bits & Self.hashed != 0 }
    set { set(Self.hashed, newValue) }
  }
  /// Whether ``ModelHashes`` counts the row.
  var isKnown: Bool {
    get { bits & Self.known != 0 }
    set { set(Self.known, newValue) }
  }
  /// Whether the final identifier is the model's hash.
  var isHashedByKey: Bool {
    get { bits & Self.hashedByKey != 0 }
    set { set(Self.hashedByKey, newValue) }
  }

  /// Whether other instances of the row are hashed in another way: it was there before the model was.
  var isAlone: Bool {
    get { bits & Self.alone != 0 }
    set { set(Self.alone, newValue) }
  }

  private mutating func set(_ bit: UInt64, _ isSet: Bool) { bits = isSet ? bits | bit : bits & ~bit }
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
    if !_number.isHashed {
      let identifier = objectID
      if identifier.isTemporaryID {
        _ = temporaryNumber
        _number.isHashed = true
      } else if _number.isHashedByKey {
        return nil
      } else if let number = ModelHashes.take(PersistentIdentifier(identifier)) {
        _number.value = number
        (_number.isHashed, _number.isKnown) = (true, true)
      } else {
        _number.isHashedByKey = true
        return nil
      }
    } else if !_number.isKnown, !_number.isAlone {
      shareHash()
    }
    return _number.value
  }

  /// Other instances of the row are to be hashed as this one was before it was saved.
  final func shareHash() {
    guard _number.isHashed, !_number.isKnown, !_number.isAlone, !objectID.isTemporaryID else { return }
    _number.isKnown = ModelHashes.add(PersistentIdentifier(objectID), _number.value)
    _number.isAlone = !_number.isKnown
  }

  /// The instance of another row shows this one from now on: its hash stays, unless this row has one already.
  final func takeHash(of other: ModelRow) {
    guard other._number.isHashed, !_number.isHashed, !_number.isHashedByKey else { return }
    _number.value = other._number.value
    (_number.isHashed, _number.isAlone) = (true, true)
  }

  /// The row is inserted again: unless it was hashed and never saved, it is about to be another row.
  final func renumber() {
    if _number.isHashed, !_number.isKnown, !_number.isAlone { return }
    if _number.isKnown { ModelHashes.release(_number.value) }
    _number = ModelNumber()
  }
}
