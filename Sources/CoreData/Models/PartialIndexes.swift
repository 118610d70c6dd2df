import StrataCore

extension NSFetchIndexDescription {
  /// The rows that the index holds: those that satisfy the predicate; nil for all of them. What comes back is a predicate of the same meaning.
  ///
  /// A fetch uses the index only where each part of this predicate is a part of its own, written with the same attribute, operator and value; `!= nil`
  /// also follows from any other test of the attribute. Only comparisons of the entity's own stored attributes with constants are taken, joined by AND,
  /// OR and NOT: for any other predicate adding the store throws `ModelError`, and says why.
  public var partialIndexPredicate: NSPredicate? {
    get {
      guard let condition, condition.refusal == nil else { return nil }
      return NSPredicate(format: condition.text)
    }
    set {
      guard let newValue else {
        condition = nil
        return
      }
      do {
        condition = IndexCondition(try FetchLowering(takesModelsInUse: false).predicate(newValue))
      } catch {
        condition = IndexCondition(
          text: "\(newValue)", keys: [], refusal: "no store can look up: \(error)")
      }
    }
  }
}
