/// A class of managed objects, which may know the slot of each of its properties at compile time.
///
/// When an entity's class conforms and answers names, they must equal the entity's properties in slot order
/// (inherited first, then own attributes, then own relationships, each in declaration order; a composite attribute is followed
/// by its elements under their key paths); a difference is reported when the model is taken into use,
/// so a slot accessor can never read the wrong attribute.
public protocol SlotDeclaring: AnyObject {
  /// The names of the properties in slot order; empty when the class uses no slot numbers, nil when it says nothing.
  static var declaredSlots: [String]? { get }
}
