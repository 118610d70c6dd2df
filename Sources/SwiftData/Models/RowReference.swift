import StrataCore

/// The row of a model as its accessors reach it: without asking the backing data what it is, and without counting references. What `@Model` writes holds one.
///
/// Leads nowhere while the model is a draft. Used where the model is, and ends where that ends, on any thread.
public struct _RowReference: ~Copyable {
  // Unmanaged: the row is the model's backing data, which the model keeps, and the row keeps its plan. Who replaces the backing data replaces this first.
  @usableFromInline let row: Unmanaged<ManagedObject>?
  @usableFromInline let plan: Unmanaged<ModelPlan>?
  /// The row, when it may know the model by its address. Retained: in which order a model lets go of its properties is not laid down.
  private let held: Unmanaged<ModelRow>?

  /// Leads nowhere.
  public init() {
    row = nil
    plan = nil
    held = nil
  }

  /// Leads to the row that the backing data is, if it is one.
  public init(_ backingData: AnyObject) {
    guard backingData is ModelRow else {
      row = nil
      plan = nil
      held = nil
      return
    }
    let found = Unmanaged.passUnretained(unsafeDowncast(backingData, to: ModelRow.self))  // As was asked.
    row = .fromOpaque(found.toOpaque())
    plan = found._withUnsafeGuaranteedRef { $0.withPlan { Unmanaged.passUnretained($0) } }
    held = found._withUnsafeGuaranteedRef { $0.hold() } ? found.retain() : nil
  }

  deinit {
    guard let held else { return }
    held._withUnsafeGuaranteedRef { $0.endHold() }
    held.release()
  }

  /// Calls `read` with the row and the slot; nil where the long way has to be gone.
  @inline(__always)
  private static func reading<Value>(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int,
    _ read: (ManagedObject, Int) -> Value?
  ) -> Value? {
    plan._withUnsafeGuaranteedRef { plan in
      let slot = Int(plan.slots[place])
      if slot < 0 { return nil }
      return row._withUnsafeGuaranteedRef { plan.probe.takesTheLongWay($0) ? nil : read($0, slot) }
    }
  }

  // MARK: Reading
  //
  // Each is nil where the long way has to be gone: there is no row, the slot does not hold the value itself, somebody observes what is read, or, of a property that cannot be
  // nil, the row has no value.

  @usableFromInline static func text(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> String? {
    reading(row, plan, place) { $0.readString(slot: $1) }
  }

  @usableFromInline static func optionalText(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> String?? {
    reading(row, plan, place) { .some($0.readString(slot: $1)) }
  }

  @usableFromInline static func whole(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Int64? {
    reading(row, plan, place) { row, slot in
      let value = row.readInt64(slot: slot)
      // Zero may stand for nil.
      return value != 0 ? value : row.readOptionalInt64(slot: slot)
    }
  }

  @usableFromInline static func optionalWhole(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Int64?? {
    reading(row, plan, place) { .some($0.readOptionalInt64(slot: $1)) }
  }

  @usableFromInline static func real(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Double? {
    reading(row, plan, place) { row, slot in
      let value = row.readDouble(slot: slot)
      return value != 0 ? value : row.readOptionalDouble(slot: slot)
    }
  }

  @usableFromInline static func optionalReal(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Double?? {
    reading(row, plan, place) { .some($0.readOptionalDouble(slot: $1)) }
  }

  @usableFromInline static func truth(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Bool? {
    reading(row, plan, place) { row, slot in
      row.readBool(slot: slot) ? true : row.readOptionalBool(slot: slot)
    }
  }

  @usableFromInline static func optionalTruth(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Bool?? {
    reading(row, plan, place) { .some($0.readOptionalBool(slot: $1)) }
  }

  @usableFromInline static func moment(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Date? {
    reading(row, plan, place) { $0.readDate(slot: $1) }
  }

  @usableFromInline static func optionalMoment(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> Date?? {
    reading(row, plan, place) { .some($0.readDate(slot: $1)) }
  }

  @usableFromInline static func uuid(
    _ row: Unmanaged<ManagedObject>, _ plan: Unmanaged<ModelPlan>, _ place: Int
  ) -> UUID? {
    reading(row, plan, place) { $0.readUUID(slot: $1) }
  }
}
