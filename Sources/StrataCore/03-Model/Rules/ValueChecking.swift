/// What a class of managed objects says about the values it checks itself, beyond the rules of the model, and about changes that it wants to hear of.
///
/// Looked at when a model is compiled, so that neither a save nor a setter need ask each object.
protocol ValueChecking: AnyObject {
  /// The properties that the class has validators for.
  static var validatedKeys: [String] { get }
  /// Whether it has a check of its own for any property, methods found by their names included.
  static var hasValidators: Bool { get }
  /// Whether every value goes through a method of the class.
  static var checksEveryValue: Bool { get }
  /// Whether setters call methods of the class before and after each change.
  static var announcesChanges: Bool { get }
}
