import Foundation
import Synchronization

// Values that an attribute's type allows to be set and that cannot be stored: what a transformer refuses, a number too large for an
// integer. Such a value stays with the object, its slot empty, until another one is set or a save says what is wrong with it.

/// A value that cannot be stored: in the place of the slot's transient value, which a stored attribute does not use.
private struct RefusedValue {
  let value: Any
  let code: CoreDataError.Code
  /// What is said of the attribute.
  let words: String
  let underlying: (any Error)?
}

/// Why the value that a slot has must not be saved: a front knows that what was there before would be lost. In the place of the slot's transient value, too.
private struct Objection {
  /// The property that the error names: the slot's own, or the composite attribute that it is an element of.
  let property: Int
  /// The slots of which one has to be changed for the objection to hold.
  let slots: [Int]
  /// What is said of the property.
  let words: String
  let underlying: (any Error)?
}

/// Whether any object of the process has ever had such a value, so that saves need not look for them.
private let haveBeen = Atomic<Bool>(false)

extension ManagedObject {
  static var haveRefusedValues: Bool { haveBeen.load(ordering: .relaxed) }

  /// `value`, which was to be set, cannot be stored. The slot is empty.
  final func refuse(
    _ value: Any, _ slot: Int, _ code: CoreDataError.Code, _ words: String, underlying: (any Error)? = nil
  ) {
    haveBeen.store(true, ordering: .relaxed)
    let refused = RefusedValue(value: value, code: code, words: words, underlying: underlying)
    transients = (transients ?? [:]).merging([slot: refused]) { $1 }
    // Setters take the slow half from now on, which forgets the refusal.
    edits = nil
  }

  /// Another value is set.
  @inline(__always)
  final func forgetRefusal(_ slot: Int) {
    if transients != nil, Self.isKeptForSaves(transients?[slot]) { transients?[slot] = nil }
  }

  /// The value that cannot be stored, while the slot is as empty as the refusal left it.
  final func refusedValue(_ slot: Int) -> Any? { refusal(slot)?.value }

  private final func refusal(_ slot: Int) -> RefusedValue? {
    guard let refused = transients?[slot] as? RefusedValue else { return nil }
    if home.entity.attributes[slot].isTransient { return refused }
    guard let draft, draft.isChanged(slot), draft.isNil(slot) else { return nil }
    return refused
  }

  /// Whether the slot is empty because its value cannot be stored.
  final func isRefused(_ slot: Int) -> Bool { transients != nil && refusal(slot) != nil }

  /// The object's edits are gone, and with them the values that could not be stored.
  final func forgetRefusedValues() {
    if ManagedObject.haveRefusedValues { transients = transients?.filter { !Self.isKeptForSaves($0.value) } }
  }

  private static func isKeptForSaves(_ value: Any?) -> Bool { value is RefusedValue || value is Objection }

  /// One failure for each value that cannot be stored.
  final func refusalFailures() -> [CoreDataError] {
    guard ManagedObject.haveRefusedValues, let transients else { return [] }
    return transients.keys.sorted().compactMap { slot in
      if slot < 0 { return nil }
      if let objection = objection(slot) {
        return failure(
          .managedObjectValidation, home.entity.attributes[objection.property].name, nil, objection.words,
          underlying: objection.underlying)
      }
      guard let refused = refusal(slot) else { return nil }
      return failure(
        refused.code, home.entity.attributes[slot].name, refused.value, refused.words,
        underlying: refused.underlying)
    }
  }

  // MARK: Objections

  /// Has every save fail, with error 1550 about the property, that would write the value which `slot` was given last. The object shows that value until another one
  /// is set or the edit is taken back.
  ///
  /// - Parameters:
  ///   - slot: Of an attribute, which may be a composite one.
  ///   - words: What is said of the property.
  ///   - underlying: The error behind it.
  package final func raiseObjection(toValueOf slot: Int, _ words: String, underlying: (any Error)? = nil) {
    let slots = leaves(of: slot)
    guard let place = slots.first else { return }
    haveBeen.store(true, ordering: .relaxed)
    let objection = Objection(property: slot, slots: slots, words: words, underlying: underlying)
    transients = (transients ?? [:]).merging([place: objection]) { $1 }
    // As for values that are refused.
    edits = nil
  }

  /// Whether the value that `slot` was given last must not be saved.
  package final func isObjectedTo(_ slot: Int) -> Bool {
    transients != nil && leaves(of: slot).first.flatMap { objection($0) } != nil
  }

  /// Another value may be saved.
  package final func withdrawObjection(toValueOf slot: Int) {
    if transients != nil, let place = leaves(of: slot).first { forgetRefusal(place) }
  }

  private final func objection(_ place: Int) -> Objection? {
    guard let objection = transients?[place] as? Objection, let draft,
      objection.slots.contains(where: { draft.isChanged($0) })
    else { return nil }
    return objection
  }

  /// The slots that hold the values of an attribute: its own, or those of its elements.
  private final func leaves(of slot: Int) -> [Int] {
    let attribute = home.entity.attributes[slot]
    return attribute.type == .composite ? attribute.elements.flatMap { leaves(of: $0) } : [slot]
  }

  // MARK: Numbers

  /// What a number that `attribute` cannot hold as it is, becomes: cut off as Core Data's stores do it, in contexts that are used by Core Data's
  /// names; nil and a refusal otherwise. Traps for what is no number.
  final func unfitting(_ value: Any?, _ attribute: AttributeSchema) -> (
    AttributeValue, refusal: (() -> Void)?
  ) {
    let entity = home.token.entityName
    guard let value, AttributeValue.isNumber(value), attribute.type.isInteger || attribute.type == .boolean
    else {
      trap(
        "\(entity).\(attribute.name) is of type \(attribute.type) and cannot take "
          + "\(value.map { "\(Swift.type(of: $0)) \($0)" } ?? "nil").")
    }
    let fit = NumberFit(value, type: attribute.type)
    if case .cut(let rest)? = fit, speaksFoundation { return (rest, nil) }
    let (code, words) = Self.refusal(of: value, fit, attribute)
    let kept = AttributeValue(value, type: .undefined).flatMap { handedOut($0) } ?? value
    return (.null, { self.refuse(kept, attribute.slot, code, words) })
  }

  /// The error for a number that does not fit.
  final func numberFailure(_ value: Any, _ fit: NumberFit?, _ attribute: AttributeSchema) -> CoreDataError {
    let (code, words) = Self.refusal(of: value, fit, attribute)
    return failure(code, attribute.name, value, words)
  }

  private static func refusal(of value: Any, _ fit: NumberFit?, _ attribute: AttributeSchema) -> (
    CoreDataError.Code, String
  ) {
    switch fit {
    case .tooLarge?:
      (.validationNumberTooLarge, "is \(value), which is too large for the type \(attribute.type)")
    case .tooSmall?:
      (.validationNumberTooSmall, "is \(value), which is too small for the type \(attribute.type)")
    case .cut?, nil: (.managedObjectValidation, "is of type \(attribute.type), which cannot hold \(value)")
    }
  }
}

extension AttributeValue {
  /// Whether `any` is a number or a truth value of any kind.
  static func isNumber(_ any: Any) -> Bool {
    switch inferred(any, preferring: .double) {
    case .integer?, .double?, .float?, .decimal?, .boolean?: true
    case nil: any is any BinaryInteger
    default: false
    }
  }
}
