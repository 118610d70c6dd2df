import CoreData
import Testing

// Every member of undo managers and value transformers, written as for Apple's platforms. Type-checked, not run.

private func undo(_ context: NSManagedObjectContext, _ target: NSObject) {
  // tsv: (global).UndoManager
  let undo = UndoManager()  // tsv: UndoManager.init()
  context.undoManager = undo  // tsv: NSManagedObjectContext.undoManager
  undo.registerUndo(withTarget: target) { _ in }  // tsv: UndoManager.registerUndo(withTarget:handler:)
  undo.beginUndoGrouping()  // tsv: UndoManager.beginUndoGrouping()
  undo.endUndoGrouping()  // tsv: UndoManager.endUndoGrouping()
  undo.disableUndoRegistration()  // tsv: UndoManager.disableUndoRegistration()
  undo.enableUndoRegistration()  // tsv: UndoManager.enableUndoRegistration()
  undo.undo()  // tsv: UndoManager.undo()
  undo.redo()  // tsv: UndoManager.redo()
  undo.undoNestedGroup()  // tsv: UndoManager.undoNestedGroup()
  undo.removeAllActions()  // tsv: UndoManager.removeAllActions()
  undo.removeAllActions(withTarget: target)  // tsv: UndoManager.removeAllActions(withTarget:)
  undo.setActionName("a")  // tsv: UndoManager.setActionName(_:)
  undo.setActionIsDiscardable(true)  // tsv: UndoManager.setActionIsDiscardable(_:)
  undo.groupsByEvent = false  // tsv: UndoManager.groupsByEvent
  undo.runLoopModes = [.default]  // tsv: UndoManager.runLoopModes
  undo.levelsOfUndo = 3  // tsv: UndoManager.levelsOfUndo
  let key = UndoManager.UserInfoKey(rawValue: "k")  // tsv: UndoManager.UserInfoKey
  undo.setActionUserInfoValue(1, forKey: key)  // tsv: UndoManager.setActionUserInfoValue(_:forKey:)
  let parts: [Any?] = [
    undo.canUndo,  // tsv: UndoManager.canUndo
    undo.canRedo,  // tsv: UndoManager.canRedo
    undo.groupingLevel,  // tsv: UndoManager.groupingLevel
    undo.isUndoing,  // tsv: UndoManager.isUndoing
    undo.isRedoing,  // tsv: UndoManager.isRedoing
    undo.isUndoRegistrationEnabled,  // tsv: UndoManager.isUndoRegistrationEnabled
    undo.undoActionName,  // tsv: UndoManager.undoActionName
    undo.redoActionName,  // tsv: UndoManager.redoActionName
    undo.undoMenuItemTitle,  // tsv: UndoManager.undoMenuItemTitle
    undo.redoMenuItemTitle,  // tsv: UndoManager.redoMenuItemTitle
    undo.undoMenuTitle(forUndoActionName: "a"),  // tsv: UndoManager.undoMenuTitle(forUndoActionName:)
    undo.redoMenuTitle(forUndoActionName: "a"),  // tsv: UndoManager.redoMenuTitle(forUndoActionName:)
    undo.undoActionIsDiscardable,  // tsv: UndoManager.undoActionIsDiscardable
    undo.redoActionIsDiscardable,  // tsv: UndoManager.redoActionIsDiscardable
    undo.undoActionUserInfoValue(forKey: key),  // tsv: UndoManager.undoActionUserInfoValue(forKey:)
    undo.redoActionUserInfoValue(forKey: key),  // tsv: UndoManager.redoActionUserInfoValue(forKey:)
    undo.undoCount,  // tsv: UndoManager.undoCount
    undo.redoCount,  // tsv: UndoManager.redoCount
    NSUndoCloseGroupingRunLoopOrdering,  // tsv: (global).NSUndoCloseGroupingRunLoopOrdering
    NSUndoManagerGroupIsDiscardableKey,  // tsv: (global).NSUndoManagerGroupIsDiscardableKey
  ]
  _ = parts
}

private func transformers() {
  // tsv: (global).ValueTransformer
  // tsv: (global).NSValueTransformerName
  let name = NSValueTransformerName("a")  // tsv: NSValueTransformerName.init(_:)
  let other = NSValueTransformerName(rawValue: "a")  // tsv: NSValueTransformerName.init(rawValue:)
  let raw: String = name.rawValue  // tsv: NSValueTransformerName.rawValue
  let known: [NSValueTransformerName] = [
    .isNilTransformerName,  // tsv: NSValueTransformerName.isNilTransformerName
    .isNotNilTransformerName,  // tsv: NSValueTransformerName.isNotNilTransformerName
    .keyedUnarchiveFromDataTransformerName,  // tsv: NSValueTransformerName.keyedUnarchiveFromDataTransformerName
    .negateBooleanTransformerName,  // tsv: NSValueTransformerName.negateBooleanTransformerName
    .secureUnarchiveFromDataTransformerName,  // tsv: NSValueTransformerName.secureUnarchiveFromDataTransformerName
    .unarchiveFromDataTransformerName,  // tsv: NSValueTransformerName.unarchiveFromDataTransformerName
  ]
  let transformer: ValueTransformer? = ValueTransformer(forName: name)  // tsv: ValueTransformer.init(forName:)
  ValueTransformer.setValueTransformer(transformer, forName: other)  // tsv: ValueTransformer.setValueTransformer(_:forName:)
  let names: [NSValueTransformerName] = ValueTransformer.valueTransformerNames()  // tsv: ValueTransformer.valueTransformerNames()
  let type: AnyClass = ValueTransformer.transformedValueClass()  // tsv: ValueTransformer.transformedValueClass()
  let reverses: Bool = ValueTransformer.allowsReverseTransformation()  // tsv: ValueTransformer.allowsReverseTransformation()
  let value: Any? = transformer?.transformedValue(1)  // tsv: ValueTransformer.transformedValue(_:)
  let reversed: Any? = transformer?.reverseTransformedValue(1)  // tsv: ValueTransformer.reverseTransformedValue(_:)
  let classes: [AnyClass] = NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses  // tsv: NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses
  _ = (raw, known, names, type, reverses, value, reversed, classes)
}
