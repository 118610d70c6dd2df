import StrataCore

// A value that cannot be decoded, as of an enum that has lost a case, reads as nil or as the property's initial value. What the store has stays. It would go with the next
// edit that begins with reading, such as `trip.tags.append("new")`: so a row remembers what it could not decode, and saves refuse what was set after that.

/// The mark of a value that could not be decoded, among the decoded values of its row: behind them, slots begin at 0.
private struct Undecoded {
  let error: any Error
}

extension ModelRow {
  /// What the store has of a property cannot be decoded: told once, and remembered.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - error: Why not.
  ///   - bytes: What the store has, where it is bytes that are encoded.
  ///   - isTold: Whether that was told already.
  final func noteUndecoded(
    _ property: ModelProperty, _ error: any Error, bytes: Data = Data(), isTold: Bool = false
  ) {
    if let known = _decoded?[~property.slot], known.bytes == bytes { return }
    if !isTold {
      report("\(type(of: self).modelType).\(property.name) of \(objectID) cannot be decoded", error)
    }
    _decoded = _decoded ?? [:]
    _decoded?[~property.slot] = (bytes, Undecoded(error: error))
  }

  /// Whether a property was read, and these bytes could not be decoded.
  final func hasNotDecoded(_ bytes: Data, _ property: ModelProperty) -> Bool {
    _decoded?[~property.slot]?.bytes == bytes
  }

  /// Sets a property, by `write`. Where it was read, and what the store has could not be decoded and is there still, saves fail until the new value is taken back.
  ///
  /// - Parameter isUndecodable: Asked only where something could not be decoded.
  @inline(__always)
  final func set(_ property: ModelProperty, isUndecodable: () -> Bool, by write: () -> Void) {
    if _decoded == nil { return write() }
    setWithCare(property, isUndecodable, write)
  }

  @inline(never)
  private final func setWithCare(
    _ property: ModelProperty, _ isUndecodable: () -> Bool, _ write: () -> Void
  ) {
    guard let mark = _decoded?[~property.slot]?.value as? Undecoded else { return write() }
    let isLost = isObjectedTo(property.slot) || isUndecodable()
    withdrawObjection(toValueOf: property.slot)
    write()
    if !isLost { return }
    raiseObjection(
      toValueOf: property.slot,
      "could not be decoded, and its new value would take the place of what the store has of \(objectID): \(mark.error). "
        + "To give that up, set the property in another ModelContext before it is read there",
      underlying: mark.error)
  }
}
