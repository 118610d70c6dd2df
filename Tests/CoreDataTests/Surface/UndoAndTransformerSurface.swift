import CoreData
import Testing

// Every member of undo managers and value transformers, written as for Apple's platforms. Type-checked, not run.

private func undo(_ context: NSManagedObjectContext, _ target: NSObject) {
  // surface: UndoManager
  let undo = UndoManager()  // surface: UndoManager.init()
  context.undoManager = undo  // surface: NSManagedObjectContext.undoManager
  // surface: UndoManager.registerUndo(withTarget:handler:)
  undo.registerUndo(withTarget: target) { _ in }
  undo.beginUndoGrouping()  // surface: UndoManager.beginUndoGrouping()
  undo.endUndoGrouping()  // surface: UndoManager.endUndoGrouping()
  undo.disableUndoRegistration()  // surface: UndoManager.disableUndoRegistration()
  undo.enableUndoRegistration()  // surface: UndoManager.enableUndoRegistration()
  undo.undo()  // surface: UndoManager.undo()
  undo.redo()  // surface: UndoManager.redo()
  undo.undoNestedGroup()  // surface: UndoManager.undoNestedGroup()
  undo.removeAllActions()  // surface: UndoManager.removeAllActions()
  undo.removeAllActions(withTarget: target)  // surface: UndoManager.removeAllActions(withTarget:)
  undo.setActionName("a")  // surface: UndoManager.setActionName(_:)
  undo.setActionIsDiscardable(true)  // surface: UndoManager.setActionIsDiscardable(_:)
  undo.groupsByEvent = false  // surface: UndoManager.groupsByEvent
  undo.runLoopModes = [.default]  // surface: UndoManager.runLoopModes
  undo.levelsOfUndo = 3  // surface: UndoManager.levelsOfUndo
  let key = UndoManager.UserInfoKey(rawValue: "k")  // surface: UndoManager.UserInfoKey
  // surface: UndoManager.setActionUserInfoValue(_:forKey:)
  undo.setActionUserInfoValue(1, forKey: key)
  let parts: [Any?] = [
    undo.canUndo,  // surface: UndoManager.canUndo
    undo.canRedo,  // surface: UndoManager.canRedo
    undo.groupingLevel,  // surface: UndoManager.groupingLevel
    undo.isUndoing,  // surface: UndoManager.isUndoing
    undo.isRedoing,  // surface: UndoManager.isRedoing
    undo.isUndoRegistrationEnabled,  // surface: UndoManager.isUndoRegistrationEnabled
    undo.undoActionName,  // surface: UndoManager.undoActionName
    undo.redoActionName,  // surface: UndoManager.redoActionName
    undo.undoMenuItemTitle,  // surface: UndoManager.undoMenuItemTitle
    undo.redoMenuItemTitle,  // surface: UndoManager.redoMenuItemTitle
    // surface: UndoManager.undoMenuTitle(forUndoActionName:)
    undo.undoMenuTitle(forUndoActionName: "a"),
    // surface: UndoManager.redoMenuTitle(forUndoActionName:)
    undo.redoMenuTitle(forUndoActionName: "a"),
    undo.undoActionIsDiscardable,  // surface: UndoManager.undoActionIsDiscardable
    undo.redoActionIsDiscardable,  // surface: UndoManager.redoActionIsDiscardable
    // surface: UndoManager.undoActionUserInfoValue(forKey:)
    undo.undoActionUserInfoValue(forKey: key),
    // surface: UndoManager.redoActionUserInfoValue(forKey:)
    undo.redoActionUserInfoValue(forKey: key),
    undo.undoCount,  // surface: UndoManager.undoCount
    undo.redoCount,  // surface: UndoManager.redoCount
    NSUndoCloseGroupingRunLoopOrdering,  // surface: NSUndoCloseGroupingRunLoopOrdering
    NSUndoManagerGroupIsDiscardableKey,  // surface: NSUndoManagerGroupIsDiscardableKey
  ]
  _ = parts
}

private func transformers() {
  // surface: ValueTransformer
  // surface: NSValueTransformerName
  let name = NSValueTransformerName("a")  // surface: NSValueTransformerName.init(_:)
  // surface: NSValueTransformerName.init(rawValue:)
  let other = NSValueTransformerName(rawValue: "a")
  let raw: String = name.rawValue  // surface: NSValueTransformerName.rawValue
  let known: [NSValueTransformerName] = [
    .isNilTransformerName,  // surface: NSValueTransformerName.isNilTransformerName
    .isNotNilTransformerName,  // surface: NSValueTransformerName.isNotNilTransformerName
    // surface: NSValueTransformerName.keyedUnarchiveFromDataTransformerName
    .keyedUnarchiveFromDataTransformerName,
    // surface: NSValueTransformerName.negateBooleanTransformerName
    .negateBooleanTransformerName,
    // surface: NSValueTransformerName.secureUnarchiveFromDataTransformerName
    .secureUnarchiveFromDataTransformerName,
    // surface: NSValueTransformerName.unarchiveFromDataTransformerName
    .unarchiveFromDataTransformerName,
  ]
  // surface: ValueTransformer.init(forName:)
  let transformer: ValueTransformer? = ValueTransformer(forName: name)
  // surface: ValueTransformer.setValueTransformer(_:forName:)
  ValueTransformer.setValueTransformer(transformer, forName: other)
  // surface: ValueTransformer.valueTransformerNames()
  let names: [NSValueTransformerName] = ValueTransformer.valueTransformerNames()
  // surface: ValueTransformer.transformedValueClass()
  let type: AnyClass = ValueTransformer.transformedValueClass()
  // surface: ValueTransformer.allowsReverseTransformation()
  let reverses: Bool = ValueTransformer.allowsReverseTransformation()
  // surface: ValueTransformer.transformedValue(_:)
  let value: Any? = transformer?.transformedValue(1)
  // surface: ValueTransformer.reverseTransformedValue(_:)
  let reversed: Any? = transformer?.reverseTransformedValue(1)
  // surface: NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses
  let classes: [AnyClass] = NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses
  _ = (raw, known, names, type, reverses, value, reversed, classes)
}
