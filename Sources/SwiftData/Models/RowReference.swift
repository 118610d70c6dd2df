import StrataCore

/// The row of a model as its accessors reach it: without asking the backing data what it is, and without counting references. What `@Model` writes holds one.
///
/// Leads nowhere while the model is a draft. Used where the model is.
public struct _RowReference {
  // Unmanaged: the row is the model's backing data, which the model keeps, and keeps the plan that the slots belong to. Who replaces the backing data replaces this first.
  @usableFromInline let row: Unmanaged<ManagedObject>?
  /// For each property of the class its slot; below zero where accessors ask for it by its key path.
  @usableFromInline let slots: UnsafePointer<Int32>?

  /// Leads nowhere.
  @inlinable public init() {
    row = nil
    slots = nil
  }

  /// Leads to the row that the backing data is, if it is one.
  public init(_ backingData: AnyObject) {
    let found = backingData as? ModelRow
    row = found.map { Unmanaged.passUnretained($0) }
    slots = found?.withPlan { $0.slots }
  }

  // MARK: Reading
  //
  // Each is nil where the long way has to be gone: there is no row, the slot does not hold the value itself, somebody observes what is read, or, of a property that cannot be
  // nil, the row has no value.

  @usableFromInline static func text(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> String? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { $0.readString(slot: Int(slot)) }
  }

  @usableFromInline static func optionalText(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> String?? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return .some(row._withUnsafeGuaranteedRef { $0.readString(slot: Int(slot)) })
  }

  @usableFromInline static func whole(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Int64? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { row in
      let value = row.readInt64(slot: Int(slot))
      // Zero may stand for nil.
      return value != 0 ? value : row.readOptionalInt64(slot: Int(slot))
    }
  }

  @usableFromInline static func optionalWhole(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Int64?? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return .some(row._withUnsafeGuaranteedRef { $0.readOptionalInt64(slot: Int(slot)) })
  }

  @usableFromInline static func real(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Double? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { row in
      let value = row.readDouble(slot: Int(slot))
      return value != 0 ? value : row.readOptionalDouble(slot: Int(slot))
    }
  }

  @usableFromInline static func optionalReal(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Double?? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return .some(row._withUnsafeGuaranteedRef { $0.readOptionalDouble(slot: Int(slot)) })
  }

  @usableFromInline static func truth(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Bool? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { row in
      row.readBool(slot: Int(slot)) ? true : row.readOptionalBool(slot: Int(slot))
    }
  }

  @usableFromInline static func optionalTruth(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Bool?? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return .some(row._withUnsafeGuaranteedRef { $0.readOptionalBool(slot: Int(slot)) })
  }

  @usableFromInline static func moment(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Date? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { $0.readDate(slot: Int(slot)) }
  }

  @usableFromInline static func optionalMoment(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> Date?? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return .some(row._withUnsafeGuaranteedRef { $0.readDate(slot: Int(slot)) })
  }

  @usableFromInline static func uuid(_ row: Unmanaged<ManagedObject>, _ slot: Int32) -> UUID? {
    if slot < 0 || ManagedObject.isReadObserved { return nil }
    return row._withUnsafeGuaranteedRef { $0.readUUID(slot: Int(slot)) }
  }
}
