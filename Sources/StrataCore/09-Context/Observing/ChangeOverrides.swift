/// Which classes override `willChangeValue(forKey:)` or `didChangeValue(forKey:)`: found as ``ValidationOverrides`` finds it for validation, so that setters of all others call
/// nothing.
///
///     setter ──▶ willChangeValue(forKey:) ──▶ the value, and the other end ──▶ didChangeValue(forKey:)
///
/// What these two do for accessors written by hand is done by the setter itself: meanwhile they do nothing.
enum ChangeOverrides {
  /// Whether `type` or one of its superclasses below `ManagedObject` overrides one of them, or that cannot be found out.
  static func contains(_ type: ManagedObject.Type) -> Bool {
    guard let willPlace, let didPlace else { return true }
    return [willPlace, didPlace].contains { place in
      ValidationOverrides.word(place, of: type) != ValidationOverrides.word(place, of: ManagedObject.self)
    }
  }

  private static let willPlace = ValidationOverrides.place(of: OverridesWillChange.self)
  private static let didPlace = ValidationOverrides.place(of: OverridesDidChange.self)
}

private final class OverridesWillChange: ManagedObject {
  override func willChangeValue(forKey key: String) { trap("no object is of the class \(Self.self)") }
}

private final class OverridesDidChange: ManagedObject {
  override func didChangeValue(forKey key: String) { trap("there is no object of the class \(Self.self)") }
}

extension ManagedObject {
  /// A setter is about to change an attribute or a to-one relationship.
  @inline(__always)
  final func announceChange(_ slot: Int) {
    if state.contains(.announcing) { callWillChange(slot) }
  }

  /// It has changed it. Who sets a relationship has set its other end, too.
  @inline(__always)
  final func announceChanged(_ slot: Int) {
    if state.contains(.announcing) { callDidChange(slot) }
  }

  @inline(never)
  private final func callWillChange(_ slot: Int) {
    if state.contains(.awaking) { return }
    let slot = announcedSlot(slot)
    let observation = ensureObservation()
    let outer = observation.announced[slot] ?? 0
    observation.announced[slot] = outer + 1
    // The class sets it once more while it hears of the change.
    if outer > 0 { return }
    willChangeValue(forKey: home.entity.attributes[slot].name)
  }

  @inline(never)
  private final func callDidChange(_ slot: Int) {
    let slot = announcedSlot(slot)
    guard let observation, observation.announced[slot] != nil else { return }
    didChangeValue(forKey: home.entity.attributes[slot].name)
    if let count = observation.announced[slot] { observation.announced[slot] = count > 1 ? count - 1 : nil }
  }

  /// Of an element of a composite attribute the whole changes.
  private final func announcedSlot(_ slot: Int) -> Int { home.entity.attributes[slot].composite ?? slot }

  /// Whether a setter is announcing a change of that property, and does everything else itself.
  final func isAnnouncing(_ key: String) -> Bool {
    guard state.contains(.announcing), let observation, let slot = home.entity.slot(named: key) else {
      return false
    }
    return observation.announced[slot] != nil
  }
}
