import Foundation

// Transformable attributes. The row, the draft and everything that compares, merges or undoes knows their bytes only:
//
//     setValue ──▶ transformer ──▶ bytes in the draft        at once: what is mutated afterwards changes nothing
//     value    ◀── transformer ◀── bytes                     when asked for; value types are kept with the bytes they are of
//
// A value that the transformer refuses stays with the object, its slot empty, until the save says so.

extension ManagedObject {
  /// A value decoded from the bytes that the attribute has, or had.
  private struct DecodedValue {
    let bytes: Data
    let value: Any
  }

  /// The transformable attribute `key`, decoded: what `value(forKey:)` answers, with the error when the stored bytes cannot be
  /// decoded (`value(forKey:)` writes it to standard error and answers nil). Fires a fault.
  ///
  /// A value type is decoded once for the bytes it has; of a class each call gives a new instance, so that changing one in
  /// place changes nothing else (rule 77, better). To change the value, set it.
  /// - Throws: `CoreDataError` 134060 naming the attribute and the transformer; the stored bytes stay as they are.
  public final func transformedValue(forKey key: String) throws -> Any? {
    guard let slot = home.entity.slot(named: key), isTransformable(slot) else {
      trap("entity \(home.token.entityName) has no transformable attribute “\(key)”.")
    }
    willAccess(slot)
    return try transformedValue(slot)
  }

  /// The transformable attribute in `slot`, as `value(forKey:)` answers it. Fires a fault. Traps for another attribute.
  ///
  /// `readData(slot:)` reads the bytes that are stored for it.
  public final func readTransformed(slot: Int) -> Any? {
    checkTransformable(slot)
    willAccess(slot)
    return keyedValue(slot)
  }

  /// Sets the transformable attribute in `slot`, or makes it nil; as `setValue(_:forKey:)`. Traps for another attribute.
  public final func write(transformed value: Any?, slot: Int) {
    checkTransformable(slot)
    setKeyedValue(value, slot, isPrimitive: false)
  }

  private final func checkTransformable(_ slot: Int) {
    guard slot >= 0, slot < slotCount, home.entity.attributes[slot].type == .transformable else {
      trap("entity \(home.token.entityName) has no transformable attribute in slot \(slot).")
    }
  }

  private final func isTransformable(_ slot: Int) -> Bool {
    home.entity.attributes[slot].type == .transformable && !home.entity.attributes[slot].isTransient
  }

  // MARK: Reading

  final func transformedValue(_ slot: Int) throws -> Any? {
    if let refused = refusedValue(slot) { return refused }
    guard case .data(let bytes) = storedValue(slot) else { return nil }
    let place = decodedPlace(slot)
    if let kept = transients?[place] as? DecodedValue, kept.bytes == bytes { return kept.value }
    let value = try decode(bytes, slot)
    // An instance that can be changed in place is not kept.
    if !(type(of: value) is AnyClass) {
      transients = (transients ?? [:]).merging([place: DecodedValue(bytes: bytes, value: value)]) { $1 }
    }
    return value
  }

  /// Bytes of the attribute, whosever they are, as key-value coding hands them out.
  final func decodedOrReported(_ value: AttributeValue, _ slot: Int) -> Any? {
    guard case .data(let bytes) = value else { return nil }
    return reported { try decode(bytes, slot) }
  }

  /// What `body` answers; its error goes where errors of reading go.
  final func reported(_ body: () throws -> Any?) -> Any? {
    do {
      return try body()
    } catch {
      if state.contains(.probe), let replay = ProbeRecording.current, let report = replay.report {
        report(ReadFailure(error, replay.subject.map { [$0] } ?? []))
        return nil
      }
      let failure = ReadFailure(error, [objectID])
      if let context {
        context.tell(failure)
      } else {
        Diagnostics.write("\(failure)", withoutValues: failure.textWithoutValues, .error)
      }
      return nil
    }
  }

  private final func decode(_ bytes: Data, _ slot: Int) throws -> Any {
    let attribute = home.entity.attributes[slot]
    let transformer = home.transformerNames[slot]
    do {
      guard let transformer = home.transformers[slot] else { throw UnknownTransformer() }
      return try transformer.reverse(bytes)
    } catch {
      throw CoreDataError(
        .coreData,
        "The \(bytes.count) bytes of \(home.token.entityName).\(attribute.name) of p\(primaryKey) cannot be decoded by the "
          + "transformer “\(transformer ?? AttributeTransformers.secureName)”: \(error)",
        userInfo: [CoreDataError.Key.validationKey: attribute.name, NSUnderlyingErrorKey: error])
    }
  }

  /// Where a decoded value is kept: among what is kept for the row, behind its large values.
  private final func decodedPlace(_ slot: Int) -> Int { ~(slot + Int(slotCount)) }

  // MARK: Writing

  /// The bytes for `value`; nil for nil, and for what the transformer refuses, which is remembered.
  final func setTransformed(_ value: Any?, _ slot: Int, isPrimitive: Bool) {
    var bytes = AttributeValue.null
    var failure: (any Error)?
    if let value, !isNilValue(value) {
      do {
        guard let transformer = home.transformers[slot] else { throw UnknownTransformer() }
        bytes = .data(try transformer.transform(value))
      } catch {
        failure = error
      }
    }
    if isPrimitive { setPrimitive(slot, bytes) } else { edit(slot, bytes) }
    if let value, let failure {
      let name = home.transformerNames[slot] ?? AttributeTransformers.secureName
      refuse(
        value, slot, .managedObjectValidation,
        "cannot be stored, the transformer “\(name)” refuses the value: \(failure)", underlying: failure)
    } else {
      forgetRefusal(slot)
    }
  }
}

/// The object was made without a store, whose opening would have told.
struct UnknownTransformer: Error, CustomStringConvertible {
  let description = "no transformer of that name is registered"
}
