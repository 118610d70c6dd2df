/// What a class of managed objects says about the values it checks itself, beyond the rules of the model.
///
/// Looked at when a model is compiled, so that a save need not ask each object.
protocol ValueChecking: AnyObject {
  /// The properties that the class has validators for.
  static var validatedKeys: [String] { get }
  /// Whether it has a check of its own for any property, methods found by their names included.
  static var hasValidators: Bool { get }
  /// Whether every value goes through a method of the class.
  static var checksEveryValue: Bool { get }
}
