// What NSPredicate(format:) makes beside comparisons.

/// TRUEPREDICATE and FALSEPREDICATE.
final class ReadConstantPredicate: NSPredicate {
  let value: Bool

  override init(value: Bool) {
    self.value = value
    super.init(value: value)
  }

  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("predicates are not archived; keep their predicateFormat.") }

  override var predicateFormat: String { PredicateText.text(self) }
  override var description: String { PredicateText.text(self) }
  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }
}

/// AND, OR and NOT.
final class ReadCompoundPredicate: NSCompoundPredicate {
  @available(*, unavailable)
  required init?(coder: NSCoder) { stop("predicates are not archived; keep their predicateFormat.") }

  override init(type: LogicalType, subpredicates: [NSPredicate]) {
    super.init(type: type, subpredicates: subpredicates)
  }

  override var predicateFormat: String { PredicateText.text(self) }
  override var description: String { PredicateText.text(self) }
  override func copy(with zone: NSZone? = nil) -> Any { self }
  override func copy() -> Any { self }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPredicate else { return false }
    return self === other || PredicateText.isSame(self, other)
  }

  override var hash: Int { PredicateText.hash(self) }
}
